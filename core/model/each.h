/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GLib's arrays, and iterators over them. They take elements through g_array_index and g_ptr_array_index, so builds
 * with the sanitizers check their bounds (tests/unit/bounds.h).
 *
 * The array is evaluated again for every element: it must be a name or a member, never a call. Type may be const.
 */
#pragma once

#include <glib.h>

/* An empty GArray of Type. */
#define IBH_NEW_ARRAY(Type) g_array_new(FALSE, TRUE, sizeof(Type))

/* Each element of a GArray of Type, first to last: x points to it. The body adds nothing to the array, removes nothing.
 */
#define IBH_EACH(Type, x, array)                                                                                       \
    for (Type *x = (array)->len ? &g_array_index(array, Type, 0) : NULL; x;                                            \
         x = x < &g_array_index(array, Type, (array)->len - 1) ? x + 1 : NULL)

/* The same from last to first. The body may take x out of the array: IBH_REMOVE. */
#define IBH_EACH_BACK(Type, x, array)                                                                                  \
    for (Type *x = (array)->len ? &g_array_index(array, Type, (array)->len - 1) : NULL; x;                             \
         x = x > (Type *)(void *)(array)->data ? x - 1 : NULL)

#define IBH_REMOVE(Type, x, array) g_array_remove_index(array, (guint)((x) - &g_array_index(array, Type, 0)))

/* `numbers`: int; NULL: none. */
static inline gboolean ibh_numbers_have(const GArray *numbers, int number)
{
    for (guint i = 0; numbers && i < numbers->len; i++) {
        if (g_array_index(numbers, int, i) == number)
            return TRUE;
    }
    return FALSE;
}

/* `names`: char *. */
static inline gboolean ibh_names_have(GPtrArray *names, const char *name)
{
    return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

/* Each element of a GPtrArray of Type *, first to last: x is it. */
#define IBH_EACH_POINTER(Type, x, array)                                                                               \
    for (Type **x##_at = (array)->len ? (Type **)(void *)&g_ptr_array_index(array, 0) : NULL,                          \
              *x = x##_at ? *x##_at : NULL;                                                                            \
         x##_at; x##_at = x##_at < (Type **)(void *)&g_ptr_array_index(array, (array)->len - 1) ? x##_at + 1 : NULL,   \
              x = x##_at ? *x##_at : NULL)

/* Each next hop of a multipath route; none of any other one. */
#define IBH_EACH_HOP(x, route) for (const IbhHop *x = (route)->hops; x && x < (route)->hops + (route)->nexthops; x++)

/* Each row of a table, an array of C. */
#define IBH_EACH_ROW(Type, x, rows) for (Type *x = (rows); x < (rows) + G_N_ELEMENTS(rows); x++)

/* In a function that orders values: returns where these two differ. */
#define IBH_COMPARE(a, b)                                                                                              \
    do {                                                                                                               \
        if ((a) != (b))                                                                                                \
            return (a) < (b) ? -1 : 1;                                                                                 \
    } while (0)

/* The same for this member of both. */
#define IBH_COMPARE_MEMBER(a, b, member) IBH_COMPARE((a)->member, (b)->member)
