/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The iterators where they are hard: an element is taken out, one is NULL, the body goes beyond the bounds.
 */
#include "model/each.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static GArray *numbers(guint n)
{
    GArray *array = g_array_new(FALSE, FALSE, sizeof(int));

    for (int i = 1; i <= (int)n; i++)
        g_array_append_val(array, i);
    return array;
}

/* Every set of elements, taken out. */
static void test_remove(void **state)
{
    for (guint taken = 0; taken < 1 << 5; taken++) {
        g_autoptr(GArray) array = numbers(5);
        guint left = 0;

        IBH_EACH_BACK (int, number, array) {
            if (taken & (1u << (*number - 1)))
                IBH_REMOVE(int, number, array);
        }
        IBH_EACH (const int, number, array)
            left |= 1u << (*number - 1);
        assert_int_equal(left, ~taken & 0x1f);
    }
    (void)state;
}

static void test_pointers(void **state)
{
    char words[][4] = {"ib0", "ib1", "ib2"};
    g_autoptr(GPtrArray) array = g_ptr_array_new();
    guint n = 0;

    IBH_EACH_POINTER (const char, word, array)
        fail_msg("%s in an empty array", word);
    for (guint i = 0; i < 3; i++)
        g_ptr_array_add(array, words[i]);
    g_ptr_array_add(array, NULL); /* an element like any other */
    IBH_EACH_POINTER (const char, word, array)
        assert_ptr_equal(word, n < 3 ? words[n] : NULL), n++;
    assert_int_equal(n, 4);
    (void)state;
}

#ifdef IBH_BOUNDS
static void empty_while_looking(void)
{
    g_autoptr(GArray) array = numbers(3);

    IBH_EACH (int, number, array)
        g_array_set_size(array, (guint)*number - 1);
    _exit(0);
}

/* Under the sanitizers, a body that takes away what is iterated over is stopped. */
static void test_bounds(void **state)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        close(STDERR_FILENO);
        empty_while_looking();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    (void)state;
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_pointers),
#ifdef IBH_BOUNDS
        cmocka_unit_test(test_bounds),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
