/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/node.h"

#include "model/each.h"

static void free_item(gpointer item)
{
    ibh_node_free(item);
}

static IbhNode *add(IbhNode *in, const char *key, IbhNodeKind kind)
{
    IbhNode *node = g_new0(IbhNode, 1);

    node->kind = kind;
    node->key = key;
    if (kind == IBH_NODE_LIST || kind == IBH_NODE_OBJECT)
        node->items = g_ptr_array_new_with_free_func(free_item);
    if (in)
        g_ptr_array_add(in->items, node);
    return node;
}

IbhNode *ibh_node_new(void)
{
    return add(NULL, NULL, IBH_NODE_OBJECT);
}

void ibh_node_free(IbhNode *node)
{
    g_clear_pointer(&node->items, g_ptr_array_unref);
    g_free(node->text);
    g_free(node);
}

IbhNode *ibh_add_list(IbhNode *in, const char *key)
{
    return add(in, key, IBH_NODE_LIST);
}

IbhNode *ibh_add_object(IbhNode *in, const char *key)
{
    return add(in, key, IBH_NODE_OBJECT);
}

void ibh_add_text(IbhNode *in, const char *key, const char *text)
{
    add(in, key, text ? IBH_NODE_TEXT : IBH_NODE_NULL)->text = g_strdup(text);
}

void ibh_add_number(IbhNode *in, const char *key, gint64 number)
{
    add(in, key, IBH_NODE_NUMBER)->number = number;
}

void ibh_add_milli(IbhNode *in, const char *key, gint64 thousandths)
{
    add(in, key, IBH_NODE_MILLI)->number = thousandths;
}

void ibh_add_flag(IbhNode *in, const char *key, gboolean flag)
{
    add(in, key, IBH_NODE_FLAG)->number = flag != FALSE;
}

/* ---- reading ---- */

const IbhNode *ibh_node_get(const IbhNode *node, const char *key)
{
    IBH_EACH_POINTER (const IbhNode, item, node->items) {
        if (g_str_equal(item->key, key))
            return item->kind == IBH_NODE_NULL ? NULL : item;
    }
    return NULL;
}

const char *ibh_node_text(const IbhNode *node, const char *key)
{
    const IbhNode *item = ibh_node_get(node, key);

    return item && item->text ? item->text : "";
}

gint64 ibh_node_number(const IbhNode *node, const char *key)
{
    const IbhNode *item = ibh_node_get(node, key);

    return item ? item->number : 0;
}

const GPtrArray *ibh_node_items(const IbhNode *node, const char *key)
{
    static const GPtrArray none = {0};
    const IbhNode *item = ibh_node_get(node, key);

    return item && item->items ? item->items : &none;
}

char *ibh_node_join(const IbhNode *node, const char *key, const char *separator)
{
    GString *text = g_string_new(NULL);

    IBH_EACH_POINTER (const IbhNode, item, ibh_node_items(node, key))
        g_string_append_printf(text, "%s%s", text->len ? separator : "", item->text);
    return g_string_free(text, FALSE);
}
