/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of all that --check can find, except about RDMA (fabric/rows.c), and its predicates.
 */
#pragma once

#include "check/check.h"
#include "check/row.h"

extern const IbhRow ibh_rows[];

/* The value of arp_ignore with which a NIC answers no request. With 0, 3 to 7, and values above 8, a NIC also answers
 * for addresses of other NICs (ibh_arp_ignore_silences()). */
#define IBH_ANSWERS_NOTHING 8

/* wires.c */
IbhPredicate ibh_nic_answers_for_rails, ibh_address_is_silenced;
IbhPredicate ibh_proxy_is_of_all, ibh_proxy_is_own, ibh_proxy_is_of_vlan, ibh_proxy_is_entry;
IbhPredicate ibh_address_is_duplicate, ibh_address_is_of_port, ibh_address_has_failed, ibh_rail_is_deprecated;
IbhPredicate ibh_rail_is_mute, ibh_neighbour_is_own, ibh_neighbour_is_written, ibh_rail_lacks_arp;
/* siblings.c */
IbhPredicate ibh_pair_has_other_mtu6, ibh_pair_lacks_ipv6, ibh_pair_has_other_length, ibh_pair_lacks_subnet;
IbhPredicate ibh_pair_has_one_mac, ibh_rail_has_lowered_mtu6;
/* gateway.c */
IbhPredicate ibh_gateway_is_missing, ibh_gateway_is_this_host, ibh_rail_leaves_through_other,
    ibh_route_leads_through_sibling;
/* nics.c */
IbhPredicate ibh_nic_is_held, ibh_nic_is_blocked, ibh_nic_lacks_address, ibh_nic_is_kept_astray, ibh_nic_is_asked_for;
IbhPredicate ibh_rail_answers_nothing, ibh_rail_has_value_of_all, ibh_rail_has_other_table;
/* missing.c, ours.c */
IbhPredicate ibh_rail_has_lost_family, ibh_missed_lacks_address, ibh_place_is_taken;
/* upkeep.c */
IbhPredicate ibh_manager_prunes, ibh_manager_is_inactive, ibh_script_is_in_force;
