/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a rail's link, addresses and neighbours reveal about its wire. Pure.
 */
#pragma once

#include "check/foreign.h"

void ibh_judge_wire(IbhCheck *check, const IbhNic *nic);
/* Turns a question into its answer: with proxy_arp the NIC would answer ARP for this neighbour. */
void ibh_judge_proxy_arp(IbhCheck *check, const IbhQuestion *question);
