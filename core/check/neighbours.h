/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts to ask the kernel about. Pure.
 */
#pragma once

#include "plan/rails.h"

typedef struct {
    const IbhRails *rails;
    GArray *subnets; /* IbhPrefix: of all addresses here, each once */
} IbhNeighbours;

void ibh_neighbours_init(IbhNeighbours *all, const IbhRails *rails);
void ibh_neighbours_clear(IbhNeighbours *all);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhNeighbours, ibh_neighbours_clear)

/* IbhPrefix: longer prefixes that main has inside this subnet. The caller frees it. */
GArray *ibh_find_holes(const IbhRails *rails, const IbhPrefix *subnet);

/* Another host of this subnet, outside of main's longer prefixes (`holes`, NULL: none). */
gboolean ibh_find_neighbour(const IbhNeighbours *all, const IbhPrefix *subnet, const GArray *holes, IbhIp *ret_ip);
/* The same for a route or a rule, which may be about a single address, also one that stands for a subnet of ours. */
gboolean ibh_find_in_piece(const IbhNeighbours *all, const IbhPrefix *piece, const GArray *holes, IbhIp *ret_ip);

gboolean ibh_add_once(GArray *prefixes, const IbhPrefix *prefix); /* FALSE: it is there already */
