/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The world, cut by the prefixes that rules and routes name. Each piece has a host that lies in no smaller piece. Pure.
 */
#pragma once

#include "check/models.h"

typedef struct {
    IbhPrefix prefix;
    IbhIp host;
    gboolean found; /* there is such a host; else smaller pieces cover it, or it has no other host */
    gboolean ours;  /* an address of this host, or the edge of a subnet: it stands for no other host */
} IbhPiece;

/* IbhPiece, in order, all and (added to `ret_found`) those with a host; zones: IbhPrefix */
GArray *ibh_pieces_new(const IbhWanted *wanted, const GArray *zones, GArray *ret_found);
/* Pieces inside this prefix are pieces[first .. end). */
void ibh_pieces_inside(const GArray *pieces, const IbhPrefix *prefix, guint *ret_first, guint *ret_end);

/* Another host of this prefix, not `but` (NULL: any). */
gboolean ibh_find_neighbour(const GArray *pieces, const IbhPrefix *prefix, const IbhIp *but, IbhIp *ret_ip);

gboolean ibh_add_once(GArray *prefixes, const IbhPrefix *prefix); /* FALSE: it is there already */
