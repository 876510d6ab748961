/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rail as its own manager would configure it.
 *
 * No format can express our marks (metric, suppress_ifgroup): rules and routes are the manager's. The rules have our
 * priorities, but lead to a table of another number than the NIC's own: an unmarked rule to another table that routes
 * the NIC's subnet by it makes ib-hook defer. If they led to the NIC's own table, both programs would write that table.
 *
 * The routes name no source: packets that match these rules have one. NetworkManager 1.42 adds routes before DHCP has
 * set the address, and never adds a route whose source is missing then.
 */
#pragma once

#include "render/common.h"

guint32 ibh_native_table(const IbhRails *rails, const IbhNic *nic);

IbhNative *ibh_native_new(const IbhRender *render, const IbhNic *nic);
void ibh_native_free(IbhNative *native);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhNative, ibh_native_free)

/* Remarks about a format, with those about all managers' formats. */
void ibh_native_header(GString *out, const IbhRender *render, const char *why);

/* Every rail that is asked for. */
GPtrArray *ibh_natives(const IbhRender *render);
/* TRUE if it has a default route: then main must be asked before it. */
gboolean ibh_native_has_default(const IbhNative *native);
/* Of one family: 0 both. */
gboolean ibh_native_has_family(const IbhNative *native, int family);

/* "172.16.0.0/16 …" and "priority …", as `ip route add` and `ip rule add` take them. `iface`: quoted as needed. */
char *ibh_native_route(const IbhRoute *route, const char *iface);
char *ibh_native_rule(const IbhRule *rule);
