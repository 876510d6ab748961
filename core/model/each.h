/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops over GLib's arrays. The macros use g_array_index and g_ptr_array_index, so builds with sanitizers check the
 * bounds (tests/unit/bounds.h).
 *
 * A macro evaluates `array` again for every element, so pass a variable or a member, never a call. Type may be const.
 */
#pragma once

#include <glib.h>

#define IBH_NEW_ARRAY(Type) g_array_new(FALSE, TRUE, sizeof(Type))

/* Loops over a GArray of Type; x points to the element. The body must not add or remove elements. */
#define IBH_EACH(Type, x, array)                                                                                       \
    for (Type *x = (array)->len ? &g_array_index(array, Type, 0) : NULL; x;                                            \
         x = x < &g_array_index(array, Type, (array)->len - 1) ? x + 1 : NULL)

/* Loops backwards. The body may remove x with IBH_REMOVE. When the array becomes empty, index 0 is out of bounds, so
 * the loop compares x with `data`, the start of the array. */
#define IBH_EACH_BACK(Type, x, array)                                                                                  \
    for (Type *x = (array)->len ? &g_array_index(array, Type, (array)->len - 1) : NULL; x;                             \
         x = x > (Type *)(void *)(array)->data ? x - 1 : NULL)

#define IBH_REMOVE(Type, x, array) g_array_remove_index(array, (guint)((x) - &g_array_index(array, Type, 0)))

/* `numbers`: an array of int or guint32, or NULL. */
static inline gboolean ibh_numbers_have(const GArray *numbers, int number)
{
    for (guint i = 0; numbers && i < numbers->len; i++) {
        if (g_array_index(numbers, int, i) == number)
            return TRUE;
    }
    return FALSE;
}

/* `names`: an array of char *. */
static inline gboolean ibh_names_have(GPtrArray *names, const char *name)
{
    return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

/* Loops over a GPtrArray of Type *; x is the element. */
#define IBH_EACH_POINTER(Type, x, array)                                                                               \
    for (Type **x##_at = (array)->len ? (Type **)(void *)&g_ptr_array_index(array, 0) : NULL,                          \
              *x = x##_at ? *x##_at : NULL;                                                                            \
         x##_at; x##_at = x##_at < (Type **)(void *)&g_ptr_array_index(array, (array)->len - 1) ? x##_at + 1 : NULL,   \
              x = x##_at ? *x##_at : NULL)

/* Loops over route->hops. The body does not run for a route without this list. */
#define IBH_EACH_HOP(x, route) for (const IbhHop *x = (route)->hops; x && x < (route)->hops + (route)->nexthops; x++)

/* Loops over a C array. */
#define IBH_EACH_ROW(Type, x, rows) for (Type *x = (rows); x < (rows) + G_N_ELEMENTS(rows); x++)

/* For comparison functions: if a and b differ, returns -1 or 1 from the function. */
#define IBH_COMPARE(a, b)                                                                                              \
    do {                                                                                                               \
        if ((a) != (b))                                                                                                \
            return (a) < (b) ? -1 : 1;                                                                                 \
    } while (0)

#define IBH_COMPARE_MEMBER(a, b, member) IBH_COMPARE((a)->member, (b)->member)
