/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the formats: the facts to render, and the remarks in each of them.
 */
#pragma once

#include "model/text.h"
#include "plan/rails.h"

/* A NIC as its own manager would configure it (render/native.c). */
typedef struct {
    const IbhNic *nic;
    const char *connection; /* NetworkManager's; NULL: it does not manage it */
    guint32 table;          /* not the NIC's own table: so ib-hook defers */
    GArray *addresses;      /* IbhAddress */
    GArray *routes;         /* IbhRoute, in the order in which they must be added */
    GArray *rules;          /* IbhRule */
} IbhNative;

typedef struct {
    const IbhRails *rails; /* with the family that was asked for */
    const char *const *only;
    const struct IbhFabric *fabric; /* RDMA ports; read for env alone */
} IbhRender;

/* A rail that was asked for, and whose name a text can hold. */
gboolean ibh_render_has(const IbhRender *render, const IbhNic *nic);

gboolean ibh_render_is_printable(const char *name);

/* Explanations: each line becomes a comment. */
void ibh_render_comment(GString *out, const char *text);
/* What the formats cannot express of this host: NICs left out, and with `native`, main=spread. */
void ibh_render_left_out(GString *out, const IbhRender *render, gboolean native);

/* The sysctls that ib-hook sets: not those that it only found, nor those that are kept. */
gboolean ibh_render_wants(const IbhRender *render, const IbhNic *nic, IbhSysctl key, int *ret_value);
/* No rail, but it must not answer ARP for rails: arp_ignore=1. */
gboolean ibh_render_silences(const IbhRender *render, const IbhNic *nic);
