/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the kernel is asked: up to so many, one question for each costs less than to have everything sent, and to drop
 * most of it.
 */
#pragma once

#define IBH_NICS_ASKED_FOR_ROUTES 4     /* for each, the kernel goes through all of main */
#define IBH_NICS_ASKED_FOR_ADDRESSES 32 /* for each, it goes through the addresses of this NIC alone */
#define IBH_TABLES_ASKED 64             /* for each, it goes through this table alone; but it has to be told of each */
