/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of findings: what is right is not listed. Pure.
 */
#pragma once

#include "fabric/fabric.h"

/* What a row is asked about. */
typedef struct {
    const IbhFabric *fabric;
    const char *const *only; /* NULL: all */
    const IbhPort *port;     /* NULL: of the host, or a netdev without one */
    const IbhPortNic *nic;   /* of the port: ibh_case_nic_of_port(); NULL: none */
    IbhSeverity severity;    /* its code's, unless the predicate knows better */
    GHashTable *words;       /* of the row's texts: "state" → "DOWN" */
} IbhCase;

/* A predicate that holds has said the words of its row, but those that all have: iface, port, device, number. */
void ibh_case_take(IbhCase *c, const char *word, char *text); /* takes `text` */
G_GNUC_PRINTF(3, 4) void ibh_case_say(IbhCase *c, const char *word, const char *format, ...);

typedef struct {
    const char *code; /* NULL: the end of the table */
    gboolean (*is_so)(IbhCase *c);
    const char *text;
    const char *remedy; /* "$ COMMAND", or advice */
} IbhRow;

extern const IbhRow ibh_rows_of_state[]; /* of a port: what explains all the rest */
extern const IbhRow ibh_rows_of_port[];  /* of one that is used, and in order */
extern const IbhRow ibh_rows_of_nic[];

/* The netdev that is named for the port: one that was asked for, else a rail, else one with an address, else any. */
const IbhPortNic *ibh_case_nic_of_port(const IbhCase *c, const IbhPort *port);
gboolean ibh_case_is_asked(const IbhCase *c, const IbhPortNic *nic);
gboolean ibh_port_is_active(const IbhPort *port);
/* Its state is known, and neither it nor the subnet manager explains a fault. */
gboolean ibh_port_is_right(const IbhPort *port);
/* It is in use, and its state is right. */
gboolean ibh_case_is_sound(const IbhCase *c, const IbhPort *port);
