/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a row of the table of findings (judge.c) is asked about, and its predicates. Pure.
 */
#pragma once

#include "fabric/fabric.h"

#define IBH_CASE_WORDS 10

/* A port, a netdev, or the host. A predicate that holds says the words of the row's texts. */
typedef struct {
    const IbhFabric *fabric;
    const char *const *only; /* NULL: all */
    const IbhPort *port;     /* NULL: of the host, or a netdev without one */
    const IbhPortNic *nic;   /* of the port: ibh_find_nic_of_port(); NULL: none */
    const IbhPortNic *model; /* a rail beside it with another value */
    gboolean is_model_right; /* most rails have its value */
    IbhSeverity severity;    /* the row's, unless the predicate knows better */
    struct {
        const char *name;
        char *text;
    } words[IBH_CASE_WORDS];
    guint n_words;
} IbhCase;

G_GNUC_PRINTF(3, 4) void ibh_case_say(IbhCase *c, const char *name, const char *format, ...);
void ibh_case_take(IbhCase *c, const char *name, char *text);

/* The netdev that is named for the port: one that was asked for, else a rail, else one with an address, else any. */
const IbhPortNic *ibh_find_nic_of_port(const IbhCase *c, const IbhPort *port);
gboolean ibh_is_asked(const IbhCase *c, const IbhPortNic *nic);
gboolean ibh_has_rail(const IbhFabric *fabric, const IbhPort *port);
gboolean ibh_is_omni_path(const IbhPort *port);
gboolean ibh_is_active(const IbhPort *port);
/* Its state is known, and neither it nor the subnet manager explains a fault. */
gboolean ibh_is_right(const IbhPort *port);
/* It is in use, and its state is right. */
gboolean ibh_is_sound(const IbhCase *c, const IbhPort *port);

/* ports.c */
gboolean ibh_lacks_sm(IbhCase *c);
gboolean ibh_is_inactive(IbhCase *c);
gboolean ibh_lacks_lid(IbhCase *c);
gboolean ibh_lacks_gid(IbhCase *c);
gboolean ibh_lacks_guid(IbhCase *c);
gboolean ibh_shares_guid(IbhCase *c);
gboolean ibh_shares_node_guid(IbhCase *c);

/* links.c */
gboolean ibh_is_slower(IbhCase *c);
gboolean ibh_has_lost_lanes(IbhCase *c);
gboolean ibh_is_below_board(IbhCase *c);
gboolean ibh_has_slow_slot(IbhCase *c);
gboolean ibh_link_errors_grow(IbhCase *c);
gboolean ibh_path_errors_grow(IbhCase *c);
gboolean ibh_errors_stand_out(IbhCase *c);

/* nics.c */
gboolean ibh_has_impossible_mtu(IbhCase *c);
gboolean ibh_lacks_pkey(IbhCase *c);
gboolean ibh_is_limited(IbhCase *c);
gboolean ibh_has_stale_prefix(IbhCase *c);
gboolean ibh_lacks_address_gid(IbhCase *c);
gboolean ibh_has_foreign_gid(IbhCase *c);
gboolean ibh_mtu_differs(IbhCase *c);
gboolean ibh_pkey_differs(IbhCase *c);
gboolean ibh_prefix_differs(IbhCase *c);
gboolean ibh_sm_differs(IbhCase *c);
