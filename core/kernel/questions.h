/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside this room and that of near.c: how the kernel is asked. Up to so many, one question for each costs less than to
 * have everything sent, and to drop most of it.
 */
#pragma once

#define IBH_NICS_ASKED_FOR_ROUTES 4 /* the kernel goes through all of main for each */
#define IBH_NICS_ASKED_FOR_ADDRESSES 32
#define IBH_TABLES_ASKED 64
