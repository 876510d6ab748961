/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report as a tree, of the values that JSON has. Who builds it knows no format, and the writers know nothing else.
 */
#pragma once

#include <glib.h>

typedef enum {
    IBH_NODE_NULL,
    IBH_NODE_FLAG,
    IBH_NODE_NUMBER,
    IBH_NODE_MILLI,
    IBH_NODE_TEXT,
    IBH_NODE_LIST,
    IBH_NODE_OBJECT
} IbhNodeKind;

typedef struct IbhNode IbhNode;

struct IbhNode {
    IbhNodeKind kind;
    const char *key; /* static; NULL: in a list */
    char *text;
    gint64 number;    /* MILLI: thousandths, none below zero */
    GPtrArray *items; /* IbhNode *: of a list or an object */
};

IbhNode *ibh_node_new(void); /* an object */
void ibh_node_free(IbhNode *node);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhNode, ibh_node_free)

/* Each adds a node to `in`, a list (then `key` is NULL) or an object, which owns it. */
IbhNode *ibh_add_list(IbhNode *in, const char *key);
IbhNode *ibh_add_object(IbhNode *in, const char *key);
void ibh_add_text(IbhNode *in, const char *key, const char *text); /* any bytes; NULL: null */
void ibh_add_number(IbhNode *in, const char *key, gint64 number);
void ibh_add_milli(IbhNode *in, const char *key, gint64 thousandths);
void ibh_add_flag(IbhNode *in, const char *key, gboolean flag);

/* What is not there, or null, is NULL; "", 0, FALSE; an empty list. */
const IbhNode *ibh_node_get(const IbhNode *node, const char *key);
const char *ibh_node_text(const IbhNode *node, const char *key);
gint64 ibh_node_number(const IbhNode *node, const char *key); /* or flag */
const GPtrArray *ibh_node_items(const IbhNode *node, const char *key);
/* The texts of a list. */
char *ibh_node_join(const IbhNode *node, const char *key, const char *separator);
