/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers in packets, in network byte order, wherever they stand.
 */
#pragma once

#include <glib.h>

static inline void ibh_put16(guint8 *at, guint value)
{
    at[0] = (guint8)(value >> 8);
    at[1] = (guint8)value;
}

static inline void ibh_put32(guint8 *at, guint32 value)
{
    ibh_put16(at, value >> 16);
    ibh_put16(at + 2, value & 0xffff);
}

static inline guint ibh_get16(const guint8 *at)
{
    return (guint)at[0] << 8 | at[1];
}

static inline guint32 ibh_get32(const guint8 *at)
{
    return (guint32)ibh_get16(at) << 16 | ibh_get16(at + 2);
}
