/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For builds under the sanitizers: whoever reads or writes beyond the last element of GLib's arrays is stopped. They
 * grow in powers of two, and AddressSanitizer takes what lies between for theirs.
 */
#pragma once

#include <glib.h>

static inline guint ibh_within(guint i, guint length)
{
    g_assert(i < length);
    return i;
}

#undef g_array_index
#define g_array_index(array, type, i) (((type *)(void *)(array)->data)[ibh_within((i), (array)->len)])
#undef g_ptr_array_index
#define g_ptr_array_index(array, i) ((array)->pdata[ibh_within((i), (array)->len)])
