/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report for programs: one line of JSON. */
#include "cli/report.h"

void ibh_put_quoted(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    g_string_append_c(out, '"');
    for (const char *at = valid; *at; at++) {
        guchar c = (guchar)*at;

        if (c == '"' || c == '\\')
            g_string_append_printf(out, "\\%c", c);
        else if (c == '\n')
            g_string_append(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            g_string_append_printf(out, "\\u%04x", c);
        else
            g_string_append_c(out, (char)c);
    }
    g_string_append_c(out, '"');
}

static void put_node(GString *out, const IbhNode *node);

static void put_items(GString *out, const GPtrArray *items, char begin, char end)
{
    g_string_append_c(out, begin);
    IBH_EACH_POINTER (const IbhNode, item, items) {
        if (out->str[out->len - 1] != begin)
            g_string_append_c(out, ',');
        if (item->key)
            g_string_append_printf(out, "\"%s\":", item->key);
        put_node(out, item);
    }
    g_string_append_c(out, end);
}

static void put_node(GString *out, const IbhNode *node)
{
    switch (node->kind) {
    case IBH_NODE_NULL:
        g_string_append(out, "null");
        break;
    case IBH_NODE_FLAG:
        g_string_append(out, node->number ? "true" : "false");
        break;
    case IBH_NODE_NUMBER:
        g_string_append_printf(out, "%" G_GINT64_FORMAT, node->number);
        break;
    case IBH_NODE_MILLI:
        g_string_append_printf(out, "%" G_GINT64_FORMAT ".%03d", node->number / 1000, (int)(node->number % 1000));
        break;
    case IBH_NODE_TEXT:
        ibh_put_quoted(out, node->text);
        break;
    case IBH_NODE_LIST:
        put_items(out, node->items, '[', ']');
        break;
    case IBH_NODE_OBJECT:
        put_items(out, node->items, '{', '}');
        break;
    }
}

char *ibh_write_json(IbhAction action G_GNUC_UNUSED, const IbhNode *tree, const IbhStyle *style G_GNUC_UNUSED)
{
    GString *out = g_string_new(NULL);

    put_node(out, tree);
    g_string_append_c(out, '\n');
    return g_string_free(out, FALSE);
}
