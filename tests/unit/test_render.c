/*
 * One test per file in render/: NAME.case is a host, NAME.FORMAT what is rendered of it, from the first empty line on
 * (what stands before explains the format). The format of cases is in case_text.h.
 */
#include "case_text.h"
#include "render.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES IBH_TESTS "/unit/render"

static char *read_file(const char *name, const char *suffix)
{
    g_autofree char *file = g_strdup_printf("%s/%s.%s", CASES, name, suffix);
    g_autoptr(GError) error = NULL;
    char *text = NULL;

    if (!g_file_get_contents(file, &text, NULL, &error))
        fail_msg("%s", error->message);
    return text;
}

/* The real one writes with libnm (tests/netns/test-render-networkmanager.sh). */
static char *write_profile(const IbhNative *native, GError **error G_GNUC_UNUSED)
{
    return g_strdup_printf("# the profile of %s\nroutes=%u\nrules=%u\n", native->nic->link->name, native->routes->len,
                           native->rules->len);
}

static char *render(const char *name, const char *format, IbhProfileWriter *writer, GError **error)
{
    g_autofree char *text = read_file(name, "case");
    g_autoptr(GError) local = NULL;
    g_autoptr(IbhCase) cas = ibh_case_parse(name, text, &local);
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhRails) rails = NULL;
    IbhRender request;

    if (!cas || !ibh_config_add(config, "config", cas->config->str, cas->config->len, NULL, NULL, &local) ||
        !(rails = ibh_rails_find(config, cas->snapshot, cas->respect_holds, &local)))
        fail_msg("%s", local->message);
    rails->only = ibh_case_only(cas);
    request = (IbhRender){.rails = rails, .only = rails->only, .write_profile = writer};
    return ibh_render(format, &request, error);
}

static const char *body(const char *text)
{
    const char *empty = strstr(text, "\n\n");

    assert_non_null(empty);
    for (const char *line = text; line < empty; line = strchr(line, '\n') + 1)
        assert_int_equal(*line, '#');
    return empty + 2;
}

static void test_file(void **state)
{
    const char *file = *state, *dot = strrchr(file, '.');
    g_autofree char *name = g_strndup(file, (gsize)(dot - file));
    g_autofree char *expected = read_file(name, dot + 1);
    g_autofree char *got = render(name, dot + 1, write_profile, NULL);

    assert_true(ibh_render_knows(dot + 1));
    if (!g_str_equal(expected, body(got))) {
        g_printerr("%s: expected:\n%s\ngot:\n%s\n", file, expected, body(got));
        fail();
    }
}

/* Each format is tested above. */
static void test_formats(void **state)
{
    g_autofree char *text = ibh_render_formats();
    g_auto(GStrv) formats = g_strsplit(text, ", ", -1);

    (void)state;
    for (char **format = formats; *format; format++) {
        g_autofree char *file = g_strdup_printf("%s/everything.%s", CASES, *format);

        if (!g_file_test(file, G_FILE_TEST_EXISTS))
            fail_msg("there is no %s", file);
    }
    assert_false(ibh_render_knows("iproute"));
    assert_false(ibh_render_knows(""));
}

static int by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *find_files(void)
{
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
    const char *only = g_getenv("IBH_CASE");
    g_autoptr(GDir) directory = g_dir_open(CASES, 0, NULL);
    const char *file;

    while (directory && (file = g_dir_read_name(directory))) {
        if (!g_str_has_suffix(file, ".case") && (!only || g_str_equal(file, only)))
            g_ptr_array_add(files, g_strdup(file));
    }
    g_ptr_array_sort(files, by_name);
    return files;
}

int main(void)
{
    g_autoptr(GPtrArray) files = find_files();
    g_autofree struct CMUnitTest *tests = g_new0(struct CMUnitTest, files->len + 1);

    if (!files->len) {
        g_printerr("nothing in %s\n", CASES);
        return EXIT_FAILURE;
    }
    for (guint i = 0; i < files->len; i++) {
        char *file = g_ptr_array_index(files, i);

        tests[i] = (struct CMUnitTest){file, test_file, NULL, NULL, file};
    }
    tests[files->len] = (struct CMUnitTest)cmocka_unit_test(test_formats);
    return _cmocka_run_group_tests("render", tests, files->len + 1, NULL, NULL);
}
