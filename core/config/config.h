/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration: the keys that an administrator may set, and the settings of one interface that follow from them.
 *
 * Pure: it gets text and never opens a file (files.c does). Errors name file:line, the text that was read and the
 * values that are allowed.
 */
#pragma once

#include "model/model.h"

typedef enum { IBH_MANAGE_AUTO, IBH_MANAGE_YES, IBH_MANAGE_NO } IbhManage;
typedef enum { IBH_ARP_AUTO, IBH_ARP_STRICT, IBH_ARP_KEEP } IbhArp;

typedef enum { IBH_MAIN_KEEP, IBH_MAIN_SPREAD } IbhMain;
typedef enum {
    IBH_GATEWAY_NONE,
    IBH_GATEWAY_AUTO, /* main's */
    IBH_GATEWAY_ADDRESS,
    IBH_GATEWAY_PEER,  /* the other address of a /30, /31 or /127 */
    IBH_GATEWAY_FIRST, /* the first host of the subnet */
    IBH_GATEWAY_LAST
} IbhGateway;

#define IBH_TABLE_BASE 940u       /* automatic tables are this plus the rank */
#define IBH_PRIORITY_BASE 1941u   /* of the rule to a rail's table; 1940, before it, asks main for longer prefixes */
#define IBH_PRIORITY_SPAN 16u     /* a rail's rules have priorities of so many below that one, and that */
#define IBH_PRIORITY_SPREAD 4941u /* of the rules that lead unbound traffic to the rails */
#define IBH_TABLE_AUTO 0u

/* What goes via a gateway before main is asked. */
typedef struct {
    IbhPrefix prefix;
    IbhIp via; /* AF_UNSPEC: the rail's own gateway */
} IbhRemote;

/* What holds for one interface after defaults, globs and files have been folded. */
typedef struct {
    IbhMain main; /* the same for all, */
    guint rails;  /* so are how many RDMA ports shall have a rail; 0: not said */
    IbhManage manage;
    guint32 table; /* IBH_TABLE_AUTO or a number */
    IbhArp arp;
    IbhGateway gateway;
    IbhIp gateway_ip;     /* of IBH_GATEWAY_ADDRESS */
    const GArray *remote; /* IbhRemote; owned by the config, as are both origins, "file:line" of the key */
    const char *remote_origin;
    const char *table_origin; /* NULL where automatic */
} IbhSettings;

typedef struct IbhConfig IbhConfig;

/* Turns a table's name into its number (rt_tables); returns FALSE when it is unknown. */
typedef gboolean (*IbhTableLookup)(const char *name, guint32 *ret_table, GError **error);

IbhConfig *ibh_config_new(void); /* the defaults */
void ibh_config_free(IbhConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhConfig, ibh_config_free)

/* Adds one file's text; later files win over earlier ones at the same specificity. `file`: its name, safe to print.
 * `is_public`: all users may read the file; else errors do not quote it. */
gboolean ibh_config_add(IbhConfig *config, const char *file, const char *text, gsize length, IbhTableLookup lookup,
                        gboolean is_public, GError **error);

/* All that was added, as the state keeps it: "\n# FILE" and "\nLINE" for each of its lines, without comments, so that
 * line numbers stay. At most 64 KiB. No file: "". */
const char *ibh_config_text(const IbhConfig *config);
gboolean ibh_config_is_public(const IbhConfig *config); /* all users may read all of its files */
/* From such a text; NULL: it is none, or a name of a table in it is not known any more. */
IbhConfig *ibh_config_from_text(const char *text, gboolean is_public, IbhTableLookup lookup);

IbhSettings ibh_config_settings(const IbhConfig *config, const char *iface);
/* Some section has manage=yes. Adds the names (char *, the config's) that have a section of their own with it. */
gboolean ibh_config_manages(const IbhConfig *config, GPtrArray *names);

typedef struct {
    const char *pattern, *origin; /* "ib1"; "file:line" of its first setting; the config's */
    gboolean is_name;             /* else a glob */
} IbhSection;

/* IbhSection: those that match none of these (char *). */
GArray *ibh_config_find_unmatched(const IbhConfig *config, const GPtrArray *ifaces);

#define IBH_CONFIG_ERROR (g_quark_from_static_string("ibh-config-error"))

/* ---- names of tables, as iproute2 keeps them ---- */

gboolean ibh_table_parse(const char *text, guint32 *ret_table); /* a number */
/* Looks for `name` in the text of one rt_tables file: `ID NAME [#…]`, decimal or 0x. Malformed lines are skipped. */
gboolean ibh_rt_tables_find(const char *text, gsize length, const char *name, guint32 *ret_table);
