/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration: the keys that an administrator can set, and the settings of one interface.
 *
 * Pure: host/files.c opens the files. Errors name file:line, quote the line if all users may read the file, and say
 * what is allowed.
 */
#pragma once

#include "model/model.h"

typedef enum { IBH_MANAGE_AUTO, IBH_MANAGE_YES, IBH_MANAGE_NO } IbhManage;
typedef enum { IBH_ARP_AUTO, IBH_ARP_STRICT, IBH_ARP_KEEP } IbhArp;

typedef enum { IBH_MAIN_KEEP, IBH_MAIN_SPREAD } IbhMain;
/* With the values after IBH_GATEWAY_AUTO, gateway= itself says which address the gateway has. */
typedef enum {
    IBH_GATEWAY_NONE,
    IBH_GATEWAY_AUTO, /* the gateway of main's default route through the NIC, if exactly one such route counts; see
                         set_gateway_and_metrics() in plan/gateways.c */
    IBH_GATEWAY_ADDRESS,
    IBH_GATEWAY_PEER,  /* the other address of a /30, /31 or /127 */
    IBH_GATEWAY_FIRST, /* the first host of the IPv4 subnet */
    IBH_GATEWAY_LAST   /* the last host of the IPv4 subnet */
} IbhGateway;

/* Numbers of tables, and priorities of rules. The two rules of a pair have consecutive priorities: the first rule looks
 * up main, the second rule T. */
#define IBH_TABLE_BASE 940u       /* an automatic table: 940 + IbhNic.rank, if this number is free (plan/tables.c) */
#define IBH_PRIORITY_BASE 1941u   /* the last rule that looks up T; in its pair, the rule for main has 1940 */
#define IBH_LEVELS_MAX 8          /* how deep prefixes of T may be nested; each level has two priorities of the span */
#define IBH_PRIORITY_SPAN 16u     /* the rules of pairs have the 16 priorities that end with IBH_PRIORITY_BASE */
#define IBH_PRIORITY_SPREAD 4941u /* main=spread: the rule that looks up table 940; the rule for main has 4940 */
#define IBH_TABLE_AUTO 0u         /* table=auto */

/* An element of remote=: packets from the rail to the prefix go via the gateway, unless main has a longer prefix. */
typedef struct {
    IbhPrefix prefix;
    IbhIp via; /* AF_UNSPEC for the gateway= of the rail */
} IbhRemote;

/* The settings of one interface; `main` and `rails` are the same for all interfaces. The pointers are valid as long as
 * the IbhConfig. */
typedef struct {
    IbhMain main;
    guint rails; /* how many RDMA ports should have a rail; 0 if not configured */
    IbhManage manage;
    guint32 table; /* IBH_TABLE_AUTO or a number */
    IbhArp arp;
    IbhGateway gateway;
    IbhIp gateway_ip;          /* for IBH_GATEWAY_ADDRESS */
    const GArray *remote;      /* IbhRemote */
    const char *remote_origin; /* "file:line" of remote=; NULL if not configured */
    const char *table_origin;  /* "file:line" of table=; NULL if automatic */
} IbhSettings;

typedef enum {
    IBH_KEY_MAIN,
    IBH_KEY_RAILS,
    IBH_KEY_MANAGE,
    IBH_KEY_TABLE,
    IBH_KEY_GATEWAY,
    IBH_KEY_REMOTE,
    IBH_KEY_ARP,
    IBH_N_KEYS
} IbhKey;

/* The ranks of sections. If several sections match an interface and set the same key, the section with the highest rank
 * wins. */
#define IBH_RANK_DEFAULTS 0u
#define IBH_RANK_GLOB 1u /* plus the number of characters outside of wildcards */
#define IBH_RANK_EXACT G_MAXUINT

/* One key=value of one section of one file, or the default of a key. */
typedef struct {
    IbhKey key;
    gint64 value; /* an enumerator such as IBH_ARP_KEEP, a table's number, or the number of rails; unused for remote= */
    IbhIp ip;     /* gateway=ADDRESS */
    GArray *list; /* IbhRemote, for IBH_KEY_REMOTE */
    char *pattern; /* the section's name or glob; "" for [defaults] */
    guint rank;
    guint line;
    char *origin; /* "file:line"; NULL for the default of the key */
} IbhSetting;

/* In IbhConfig.text, the text of a file begins with these characters and the file's name. No other line begins with
 * "#", because comments are cut off. */
#define IBH_FILE_BEGINS "\n# "

typedef struct {
    GPtrArray *settings; /* IbhSetting: IBH_N_KEYS defaults, then the files' settings in the order of reading */
    GString *text;       /* the text of all files, for the state: "\n# FILE", then "\nLINE" for each line without its
                            comment, so line numbers stay. At most 64 KiB; "" if there is no file. */
    gboolean is_public;  /* all users may read each file */
} IbhConfig;

/* Finds the number of a table by its name. Returns FALSE without an error if the name is unknown, and FALSE with an
 * error if a file cannot be read. */
typedef gboolean (*IbhTableLookup)(const char *name, guint32 *ret_table, GError **error);

IbhConfig *ibh_config_new(void); /* the defaults */
void ibh_config_free(IbhConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhConfig, ibh_config_free)

/* Adds the settings and the text of one file. If the text has an error, returns FALSE and adds nothing. Among settings
 * of one rank, the one that is added last wins. `file` is the file's name, safe to print. `is_public`: all users may
 * read the file, so errors may quote its lines. */
gboolean ibh_config_add(IbhConfig *config, const char *file, const char *text, gsize length, IbhTableLookup lookup,
                        gboolean is_public, GError **error);

/* Returns the settings of this interface. For `main` and `rails`, which have one value for all interfaces, `iface` may
 * be "". */
IbhSettings ibh_config_settings(const IbhConfig *config, const char *iface);
/* TRUE if the section of the setting is for this interface. */
gboolean ibh_setting_matches(const IbhSetting *setting, const char *iface);

#define IBH_CONFIG_ERROR (g_quark_from_static_string("ibh-config-error"))

/* ---- names of tables: iproute2's rt_tables ---- */

gboolean ibh_table_parse(const char *text, guint32 *ret_table); /* a number: decimal or 0x */
/* Looks for `name` in the text of one file, whose lines are `ID NAME [#…]`. Skips malformed lines. */
gboolean ibh_rt_tables_find(const char *text, gsize length, const char *name, guint32 *ret_table);
