/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of findings. A row has the code of a finding, its severity, text and remedy, and a predicate. The
 * predicate returns whether the subject has this problem, and sets the words that replace those in the row's braces.
 * Pure.
 */
#pragma once

#include "check/finding.h"
#include "plan/known.h"

/* The rows of a scope are asked once for each NIC, address, port and so on. The comments list the members of the
 * subject that are set when the rows are asked. */
typedef enum {
    IBH_NOT_ASKED, /* other code adds the finding: the row has its severity and remedy */
    IBH_OF_HOST,
    IBH_OF_NIC,                /* nic */
    IBH_OF_ADDRESS_ASKED_FOR,  /* nic, address, ip */
    IBH_OF_PROXY,              /* nic (forwards), question, ip (a host), route (to the host, or NULL) */
    IBH_OF_PROXY_ENTRY,        /* the same, and neighbour; ip is that of the neighbour */
    IBH_OF_ADDRESS,            /* nic, address, ip */
    IBH_OF_RAIL,               /* nic */
    IBH_OF_ASKING,             /* nic, family */
    IBH_OF_NEIGHBOUR,          /* nic, neighbour, ip */
    IBH_OF_WRITTEN_NEIGHBOURS, /* nic; asked after IBH_OF_NEIGHBOUR, whose findings the predicate looks for */
    IBH_OF_NO_RAIL,            /* nic */
    IBH_OF_PAIR,               /* nic, other: a rail, and another NIC */
    IBH_OF_PAIR_ADDRESS,       /* nic, other; address, ip: of `nic` */
    IBH_OF_VALUES,             /* nic */
    IBH_OF_GATEWAY,            /* nic, family */
    IBH_OF_GATEWAY_ELSEWHERE,  /* nic, family, ip, route: a route of main via a gateway */
    IBH_OF_SETUP,              /* nic */
    IBH_OF_LOST_FAMILY,        /* nic, family */
    IBH_OF_CALL,               /* nic */
    IBH_OF_SCRIPT,             /* nic */
    IBH_OF_SECTION,
    IBH_OF_MISSPELT_SECTION,
    IBH_OF_PLACE,      /* op */
    IBH_OF_PORT_STATE, /* port, netdev; asked before IBH_OF_PORT, because a port's state may explain other problems */
    IBH_OF_PORT,       /* port, netdev: a port that is used, and whose state is right */
    IBH_OF_NETDEV,     /* port, netdev */
    IBH_OF_MISSING_RAILS,
    IBH_OF_MORE_RAILS,
    IBH_OF_PLAN,                                       /* + the IbhOpType of the most important operation */
    IBH_OF_MISSED = IBH_OF_PLAN + IBH_OP_NEIGH_DEL + 1 /* missed; + its IbhMissing */
} IbhRowScope;

typedef struct IbhSubject IbhSubject;
/* TRUE if the subject has the problem. May set words (ibh_subject_say()), and the members `other`, `ip`, `named`,
 * `severity`, `remedy`, `owner` and `astray`. */
typedef gboolean IbhPredicate(IbhSubject *about);

typedef struct {
    int scope; /* IbhRowScope */
    const char *code;
    IbhSeverity severity; /* unless the predicate sets another; the manual has the severity of the code's first row */
    IbhPredicate *is_so;  /* NULL: always TRUE */
    const char *text;
    const char *remedy; /* "$ COMMAND", or advice */
    const char *owner;  /* findings with the same code and owner are merged; "": all NICs share one finding; NULL: no
                           merging, except of RDMA findings with equal messages */
    const char *says; /* a text for each NIC of the finding (IbhFinding.says); NULL: the finding's message is enough */
} IbhRow;

/* Returns the first row of ibh_rows with this code, or NULL. The codes of RDMA findings are in ibh_fabric_rows. */
const IbhRow *ibh_code_find(const char *code);

/* What the rows are asked about. */
struct IbhSubject {
    const IbhRow *rows; /* the last row has no code */
    GPtrArray *findings;
    GString *words;    /* lines "WORD=VALUE" */
    const char *iface; /* the interface that a finding is about, and the word {iface}; "": the host */
    GPtrArray *others; /* const char *: further interfaces that the finding is about; NULL: none */

    const struct IbhCheck *check;
    const IbhNic *nic, *other; /* the word {other} is the name of `other` */
    const IbhAddress *address;
    const IbhIp *ip; /* the word {ip} */
    int family;      /* AF_INET or AF_INET6; the word {version} is 4 or 6 */
    const IbhNeighbour *neighbour;
    const IbhRoute *route;
    guint named; /* how many gateways the findings about this address have named so far (gateway.c) */
    const IbhKnownRail *missed;
    const IbhOp *op;
    const struct IbhQuestion *question;

    /* If not NULL, a row makes no finding, but adds the subject's interfaces and its own `says` to this finding. */
    IbhFinding *finding;

    const struct IbhFabric *fabric;
    const struct IbhPort *port;
    const struct IbhPortNic *netdev;
    const char *const *only; /* the interfaces that the user asks about; NULL: all */

    /* A predicate may set these; severity, remedy and owner replace those of the row. They are reset for each row. */
    int severity;               /* IbhSeverity; -1: not set */
    const char *remedy, *owner; /* NULL: not set */
    gboolean astray;            /* the packets of the NIC leave through another NIC */
};

/* Sets words of the row's texts, such as "own=%s\nits=%d". */
G_GNUC_PRINTF(2, 3)
void ibh_subject_say(IbhSubject *about, const char *format, ...);
/* Asks all rows of a scope, and adds their findings. Returns the last finding, or NULL if there is none. */
IbhFinding *ibh_subject_ask(IbhSubject *about, int scope);
