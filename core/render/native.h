/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rail as its own manager would configure it; and what formats share.
 *
 * No format can express our marks (metric, suppress_ifgroup): rules and routes are the manager's. The rules have our
 * priorities, but lead to a table of another number than the NIC's own: an unmarked rule to another table that routes
 * the NIC's subnet by it makes ib-hook leave the address to it. If they led to the NIC's own table, both programs would
 * write that table.
 *
 * The routes name no source: packets that match these rules have one. NetworkManager 1.42 adds routes before DHCP has
 * set the address, and never adds a route whose source is missing then.
 */
#pragma once

#include "render/render.h"

typedef struct {
    const IbhNic *nic;
    const IbhManager *manager; /* NULL: none is known */
    GArray *routes;            /* IbhRoute, in the order in which they must be added */
    GArray *rules;             /* IbhRule */
} IbhNative;

IbhNative *ibh_native_new(const IbhRender *render, const IbhNic *nic);
void ibh_native_free(IbhNative *native);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhNative, ibh_native_free)

guint32 ibh_native_table(const IbhRails *rails, const IbhNic *nic);
/* It has a default route: then main must be asked before it. */
gboolean ibh_native_has_default(const IbhNative *native);
/* The name of its connection, or of its file, if this manager has it; NULL. */
const char *ibh_native_connection(const IbhNative *native, const char *manager);

/* The words of a format. % is the value; NULL where it has no word for it. */
typedef struct {
    const char *dst, *via, *dev, *onlink, *table, *scope; /* of a route */
    const char *priority, *from, *to, *lookup, *suppress; /* of a rule */
    gboolean needs_scope;                                 /* a route without a gateway has to have one */
} IbhWords;

void ibh_put_route(GString *out, const IbhWords *words, const IbhRoute *route, const char *iface);
void ibh_put_rule(GString *out, const IbhWords *words, const IbhRule *rule);

gboolean ibh_render_is_plain(const char *name); /* letters, digits, and what means nothing to a shell or a list */
/* A rail that was asked for, of such a name. */
gboolean ibh_render_has(const IbhRender *render, const IbhNic *nic);
/* Explanations: each line becomes a comment. */
void ibh_render_comment(GString *out, const char *text);

/* The formats of managers, a function for each: one rail. managers.c */
typedef void IbhRailWriter(GString *out, const IbhNative *native, const IbhRender *render);
IbhRailWriter ibh_write_networkd, ibh_write_netplan_rest, ibh_write_nmcli, ibh_write_ifupdown, ibh_write_ifcfg;
void ibh_write_netplan(GString *out, const GPtrArray *natives); /* the file of all */
void ibh_write_env(GString *out, const IbhRender *render);      /* env.c */
