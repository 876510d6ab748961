/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe of many peers, for people: at the end of the report, a mark for each rail and peer. Peers in a row that look
 * the same are one line, and so are all that every rail reaches.
 */
#include "cli/cli.h"

#include <string.h>

#define MANY_PEERS 8
#define WIDTH 80 /* where there is no terminal */
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz*"
#define OK '.'

typedef struct {
    const IbhProbe *probe;
    guint rails;
    char *marks;       /* of each peer a row, with a mark for each rail */
    GPtrArray *states; /* char *: what is not ok; the first has the first letter, and all behind the last have that */
} Matrix;

static void matrix_clear(Matrix *matrix)
{
    g_free(matrix->marks);
    g_ptr_array_unref(matrix->states);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Matrix, matrix_clear)

static char letter_of(guint state)
{
    return LETTERS[MIN(state, strlen(LETTERS) - 1)];
}

static void set_mark(const Matrix *matrix, guint peer, const IbhNic *nic, const char *state)
{
    guint rail = 0, number = 0;

    if (!g_ptr_array_find(matrix->probe->nics, nic, &rail))
        return;
    if (state[0] && !g_ptr_array_find_with_equal_func(matrix->states, state, g_str_equal, &number)) {
        number = matrix->states->len;
        g_ptr_array_add(matrix->states, g_strdup(state));
    }
    matrix->marks[peer * matrix->rails + rail] = state[0] ? letter_of(number) : OK;
}

static Matrix make_matrix(const IbhProbe *probe)
{
    const guint rails = probe->nics->len, size = probe->peers->len * rails;
    Matrix matrix = {.probe = probe,
                     .rails = rails,
                     .marks = g_strnfill(size, ' '),
                     .states = g_ptr_array_new_with_free_func(g_free)};

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        g_autoptr(GPtrArray) codes = ibh_probe_problems(pair);
        g_autofree char *problems = ibh_texts_join(codes, ", ");

        set_mark(&matrix, pair->peer, ibh_probe_source(pair)->nic, problems);
    }
    IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked) {
        g_autofree char *state = g_strdup_printf("not asked: %s", unasked->why);

        set_mark(&matrix, unasked->peer, unasked->nic, state);
    }
    return matrix;
}

static const char *marks_of(const Matrix *matrix, guint peer)
{
    return matrix->marks + (gsize)peer * matrix->rails;
}

static gboolean are_alike(const Matrix *matrix, guint one, guint other)
{
    return memcmp(marks_of(matrix, one), marks_of(matrix, other), matrix->rails) == 0;
}

/* Of a run that was interrupted, some have no mark. */
static gboolean has_mark(const Matrix *matrix, guint peer)
{
    return strspn(marks_of(matrix, peer), " ") < matrix->rails;
}

/* Peers that all rails see alike need no matrix: rows say the same in fewer words. */
static gboolean is_wanted(const Matrix *matrix)
{
    guint marked = 0, alike = 0, first = 0;

    for (guint peer = 0; peer < matrix->probe->peers->len; peer++) {
        if (!has_mark(matrix, peer))
            continue;
        first = marked++ ? first : peer;
        alike += are_alike(matrix, first, peer) ? 1 : 0;
    }
    return marked >= MANY_PEERS && matrix->rails > 1 && alike < marked;
}

static gboolean is_all_ok(const Matrix *matrix, guint peer)
{
    const char *marks = marks_of(matrix, peer);
    guint n = 0;

    while (n < matrix->rails && marks[n] == OK)
        n++;
    return n == matrix->rails;
}

GPtrArray *ibh_matrix_sum_up(const IbhProbe *probe)
{
    g_auto(Matrix) matrix = make_matrix(probe);
    GPtrArray *summaries;

    if (!is_wanted(&matrix))
        return NULL;
    summaries = g_ptr_array_new_with_free_func(g_free);
    for (guint rail = 0; rail < matrix.rails; rail++) {
        guint right = 0, marked = 0;

        for (guint peer = 0; peer < probe->peers->len; peer++) {
            right += marks_of(&matrix, peer)[rail] == OK ? 1 : 0;
            marked += marks_of(&matrix, peer)[rail] != ' ' ? 1 : 0;
        }
        g_ptr_array_add(summaries, g_strdup_printf("%u of %u ok", right, marked));
    }
    return summaries;
}

/* A line of the matrix: peers that follow each other, or all that every rail reaches. */
typedef struct {
    char *name;
    const char *marks;
} Line;

static void line_clear(gpointer line)
{
    g_free(((Line *)line)->name);
}

static GArray *make_lines(const Matrix *matrix)
{
    const GArray *peers = matrix->probe->peers;
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(Line));
    Line right = {0};
    guint n_right = 0;

    g_array_set_clear_func(lines, line_clear);
    for (guint first = 0, end; first < peers->len; first = end) {
        g_autoptr(GArray) alike = g_array_new(FALSE, FALSE, sizeof(IbhIp));
        Line line = {.marks = marks_of(matrix, first)};

        for (end = first; end < peers->len && are_alike(matrix, first, end); end++)
            g_array_append_val(alike, g_array_index(peers, IbhIp, end));
        if (is_all_ok(matrix, first)) {
            right.marks = line.marks;
            n_right += alike->len;
            continue;
        }
        if (!has_mark(matrix, first))
            continue;
        line.name = ibh_probe_name_peers(alike, 1);
        g_array_append_val(lines, line);
    }
    right.name = g_strdup_printf("%u other%s", n_right, n_right == 1 ? "" : "s");
    if (n_right)
        g_array_append_val(lines, right);
    else
        line_clear(&right);
    return lines;
}

static const char *rail_name(const Matrix *matrix, guint rail)
{
    return ((const IbhNic *)matrix->probe->nics->pdata[rail])->link->name;
}

/* The name of a line, and its marks, each below the name of its rail; NULL: these names. */
static void add_line(const IbhReport *report, const Matrix *matrix, const Line *line, const guint columns[3])
{
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_append_printf(text, "%-*s", (int)columns[2], line ? line->name : "PEERS");
    for (guint rail = columns[0]; rail < columns[1]; rail++) {
        const char *name = rail_name(matrix, rail);

        if (line)
            g_string_append_printf(text, "  %c%*s", line->marks[rail], (int)strlen(name) - 1, "");
        else
            g_string_append_printf(text, "  %s", name);
    }
    ibh_rows_add(report, "%s", g_strchomp(text->str));
}

/* As many rails side by side as there is room for; the others below. */
static void add_blocks(const IbhReport *report, const Matrix *matrix, const GArray *lines)
{
    const guint width = report->style->width ? report->style->width : WIDTH;
    guint columns[3] = {0, 0, strlen("PEERS")};

    IBH_EACH (const Line, line, lines)
        columns[2] = MAX(columns[2], (guint)strlen(line->name));
    while (columns[1] < matrix->rails) {
        guint used = columns[2];

        for (columns[0] = columns[1]; columns[1] < matrix->rails; columns[1]++) {
            used += (guint)strlen(rail_name(matrix, columns[1])) + 2;
            if (used > width && columns[1] > columns[0])
                break;
        }
        add_line(report, matrix, NULL, columns);
        IBH_EACH (const Line, line, lines)
            add_line(report, matrix, line, columns);
    }
}

void ibh_rows_add_matrix(const IbhReport *report)
{
    g_auto(Matrix) matrix = make_matrix(report->probe);
    g_autoptr(GArray) lines = NULL;

    if (!is_wanted(&matrix))
        return;
    lines = make_lines(&matrix);
    add_blocks(report, &matrix, lines);
    ibh_rows_add(report, "%c: ok", OK);
    for (guint i = 0; i < matrix.states->len; i++)
        ibh_rows_add(report, "%c: %s", letter_of(i), (const char *)matrix.states->pdata[i]);
}
