/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 4711u

typedef struct {
    const char *text;
    const char *name;
    guint32 table; /* 0: not found */
} Case;

static const char STOCK[] = "#\n# reserved values\n#\n255\tlocal\n254\tmain\n253\tdefault\n0\tunspec\n#\n# local\n#\n"
                            "#1\tinr.ruhep\n941 rail0\n  942\trail1   # the second\n0x3af rail2\n4294967295 last";

static const Case CASES[] = {
    /* clang-format off */
    {STOCK, "main", 254},
    {STOCK, "rail0", 941},
    {STOCK, "rail1", 942},
    {STOCK, "rail2", 943},
    {STOCK, "last", 4294967295u},
    {STOCK, "inr.ruhep", 0},
    {STOCK, "rail", 0},
    {STOCK, "rail00", 0},
    {STOCK, "RAIL0", 0},
    {STOCK, "second", 0},
    {STOCK, "#", 0},
    {STOCK, "", 0},
    {"", "rail0", 0},
    {"7\n7 \n", "", 0},
    {"\n\n\n", "rail0", 0},
    {"7 rail0\r\n8 rail1\r\n", "rail0", 7},
    {"7 rail0\r\n8 rail1\r\n", "rail1", 8},
    {"7 rail0\n8 rail0\n", "rail0", 7},       /* the first one holds */
    {"010 rail0\n", "rail0", 10},             /* decimal, as ip reads it */
    {"7 rail0 and more\n", "rail0", 7},       /* ip stops at the name, too */
    {"7 rail0#1\n", "rail0#1", 7},
    {"7 rail0#1\n", "rail0", 0},
    {"7 #rail0\n", "#rail0", 0},
    /* malformed lines are passed over, the good one behind them is found */
    {"rail0 7\nx rail0\n-7 rail0\n+7 rail0\n7rail0\n7\n7 \n5 rail0", "rail0", 5},
    {"4294967296 rail0\n0x100000000 rail0\n99999999999999999999 rail0\n5 rail0", "rail0", 5},
    {"0x rail0\n0xg rail0\n0x-7 rail0\n0x0x7 rail0\n7x rail0\n7.0 rail0\n5 rail0", "rail0", 5},
    {"#7 rail0\n # 7 rail0\n\t#\n5 rail0", "rail0", 5},
    /* clang-format on */
};

/* The text is copied to the byte, so that a read beyond its end is seen by valgrind and the sanitizers. */
static void expect(const char *text, gsize length, const char *name, guint32 table)
{
    g_autofree char *exact = g_malloc(length + 1);
    char *start = exact + 1;
    guint32 found = UNTOUCHED;

    memcpy(start, text, length);
    if (ibh_rt_tables_find(start, length, name, &found) != (table != UNTOUCHED) || found != table)
        fail_msg("name %s: table %u, not %u, in %.*s", name, found, table, (int)length, text);
}

static void test_cases(void **state)
{
    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(CASES); i++)
        expect(CASES[i].text, strlen(CASES[i].text), CASES[i].name, CASES[i].table ? CASES[i].table : UNTOUCHED);
    expect(STOCK, strlen(STOCK), "unspec", 0);
    expect("7 rail0\n8 rail1\n", 14, "rail1", UNTOUCHED);
    expect("7 rail0\n8 rail1\n", 14, "rail", 8);
    expect("7 rail0\0\n8 rail1\n", 17, "rail1", 8); /* a line with a NUL is none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
