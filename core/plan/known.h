/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware that was a rail. It is remembered, so that a cable that is out, or a card that is gone, is missed: whether
 * its manager takes the address away or leaves it, and whether that was before the boot or after it. Pure.
 */
#pragma once

#include "plan/rails.h"

typedef enum {
    IBH_IS_THERE,   /* a rail whose link works, or what only lacks a partner: the partner is missing then */
    IBH_ON_PURPOSE, /* its administrator took it down */
    IBH_ELSEWHERE,  /* its hardware is there, and has no netdev here: a pod has it, or its driver is not loaded */
    IBH_LACKS_ADDRESS,
    IBH_LACKS_CARRIER,
    IBH_LACKS_RDMA, /* a netdev without an RDMA device */
    IBH_IS_GONE,
    IBH_NO_SUCH_NIC /* never seen: only the configuration names it */
} IbhMissing;

/* What a rail that shall be remembered looks like now. FALSE: it is none, or nothing that stays (a virtual function, a
 * VLAN, a bond). Its slot is not known here. */
gboolean ibh_known_of(const IbhNic *nic, IbhKnownRail *ret_known);

/* The link that is this hardware now; NULL: none in this namespace. */
const IbhLink *ibh_known_link(const IbhSnapshot *snapshot, const IbhKnownRail *known);

IbhMissing ibh_known_missing(const IbhRails *rails, const IbhKnownRail *known);
gboolean ibh_is_fault(IbhMissing missing); /* neither there nor away on purpose */
/* "its link has no carrier": ends a sentence. */
const char *ibh_missing_text(IbhMissing missing);

/* The same of a NIC that is no rail now; IBH_IS_THERE where it never was one. */
IbhMissing ibh_nic_missing(const IbhRails *rails, const IbhNic *nic);

typedef struct {
    IbhKnownRail known;
    IbhMissing why;
} IbhMissed;

/* IbhMissed: what was a rail, or has a section of its own with manage=yes, and is none. */
GArray *ibh_known_missed(const IbhRails *rails, const IbhConfig *config);

/* What had this address; NULL: nothing. */
const IbhKnownRail *ibh_known_with(const GArray *known, const IbhIp *ip);
/* The entry for this hardware; NULL: none. */
IbhKnownRail *ibh_known_find(const GArray *known, const IbhKnownRail *like);
/* In the place of what is known of the same hardware, or of what was in its slot. */
void ibh_known_put(GArray *known, const IbhKnownRail *now);
/* Drops what need not be there any more: NICs that are not to be managed, what became a port of something, or
 * got other subnets. */
void ibh_known_forget(GArray *known, const IbhRails *rails, const IbhConfig *config);
void ibh_known_forget_name(GArray *known, const char *iface);

/* A rail stands that the state does not have: it could not be written, or was removed. Of each sysctl that may be ours,
 * remembers that the old value is lost. */
void ibh_known_note_lost_values(const IbhRails *rails, IbhState *state);
