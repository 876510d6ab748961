/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of findings, ibh_rows and ibh_fabric_rows. A row is about one problem that a subject (a NIC, an address,
 * an RDMA port and so on) may have. The row has the code, severity, text and remedy of the finding, and a predicate,
 * which returns whether the subject has the problem. The row's texts have words in braces, such as {ip}. The values
 * that replace these words come from the predicate, from the caller of ibh_subject_ask(), or from row.c. Pure.
 */
#pragma once

#include "check/finding.h"
#include "plan/known.h"

/* The rows of a scope are asked (their predicates are called) once for each NIC, address, port and so on. The comments
 * list the members of the subject that are set for the scope, besides `iface`. Other members may have values that are
 * left from another scope. */
typedef enum {
    IBH_NOT_ASKED, /* another function adds the finding, with the row's severity and remedy, or with its own */
    IBH_OF_HOST,
    IBH_OF_NIC,                /* nic */
    IBH_OF_ADDRESS_ASKED_FOR,  /* nic, address, ip */
    IBH_OF_PROXY,              /* nic (it forwards), question; and ip and route: see ibh_subject_find_proxied() */
    IBH_OF_PROXY_ENTRY,        /* the members of IBH_OF_PROXY, and neighbour; but ip is that of the neighbour */
    IBH_OF_ADDRESS,            /* nic, address, ip */
    IBH_OF_RAIL,               /* nic */
    IBH_OF_ASKING,             /* nic, family; these rows check whether the NIC asks for hardware addresses */
    IBH_OF_NEIGHBOUR,          /* nic, neighbour, ip */
    IBH_OF_WRITTEN_NEIGHBOURS, /* nic; asked after IBH_OF_NEIGHBOUR, whose findings the predicate looks for */
    IBH_OF_NO_RAIL,            /* nic */
    IBH_OF_PAIR,               /* nic (a rail), other (another NIC) */
    IBH_OF_PAIR_ADDRESS,       /* nic, other; address, ip: of `nic` */
    IBH_OF_VALUES,             /* nic */
    IBH_OF_GATEWAY,            /* nic, family */
    IBH_OF_GATEWAY_ELSEWHERE,  /* nic, family, ip (an address of the NIC), named, route (of main, via a gateway) */
    IBH_OF_SETUP,              /* nic */
    IBH_OF_LOST_FAMILY,        /* nic, family */
    IBH_OF_CALL,               /* nic */
    IBH_OF_SCRIPT,             /* nic */
    IBH_OF_SECTION,
    IBH_OF_MISSPELT_SECTION,
    IBH_OF_PLACE,      /* op */
    IBH_OF_PORT_STATE, /* port, netdev, others; asked before IBH_OF_PORT: the state may explain other problems */
    IBH_OF_PORT,       /* port, netdev, others; for a port that is used, and whose state is right */
    IBH_OF_NETDEV,     /* port, netdev */
    IBH_OF_MISSING_RAILS,
    IBH_OF_MORE_RAILS,
    IBH_OF_PLAN,                                       /* this + the IbhOpType of the most important fault (ours.c) */
    IBH_OF_MISSED = IBH_OF_PLAN + IBH_OP_NEIGH_DEL + 1 /* missed; the scope is this + missed->why */
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
    const char *remedy; /* "$ COMMAND": a fix; any other text: advice (IbhFinding); NULL (only IBH_NOT_ASKED): none */
    const char *owner;  /* findings with the same code and owner are merged; "": all NICs share one finding; NULL: no
                           merging, except of RDMA findings with equal messages */
    const char *says;   /* a text for each NIC of the finding (IbhFinding.says), in which {text} stands for this
                           row's `text`, with its words filled in; NULL: the finding's message is enough */
} IbhRow;

/* Returns the first row of ibh_rows with this code, or NULL. The codes of RDMA findings are in ibh_fabric_rows. */
const IbhRow *ibh_code_find(const char *code);

/* What the rows are asked about. */
struct IbhSubject {
    const IbhRow *rows; /* the last row has no code */
    GPtrArray *findings;
    GString *words;    /* "\nWORD=VALUE" for each word, in the order in which the words were set */
    const char *iface; /* the interface that a finding is about, and the word {iface}; "": the host */
    GPtrArray *others; /* const char *: further interfaces that the finding is about; NULL: none */

    /* NULL for ibh_fabric_rows, and for the rows about sections of the configuration */
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

    /* If not NULL, a row makes no finding, but adds the subject's interfaces and the row's `says` to this finding. */
    IbhFinding *finding;

    /* Only for ibh_fabric_rows, which are asked without a `check`: */
    const struct IbhFabric *fabric;
    const struct IbhPort *port;      /* NULL: the netdev has no port */
    const struct IbhPortNic *netdev; /* NULL: the port has no netdev */
    const char *const *only;         /* the interfaces that the user asks about; NULL: all */

    /* A predicate may set these; severity, remedy and owner replace those of the row. All are reset before each row. */
    int severity;               /* IbhSeverity; -1: not set */
    const char *remedy, *owner; /* NULL: not set */
    gboolean astray;            /* the packets of the NIC leave through another NIC */
};

/* Sets words for the row's texts, such as "own=%s\nits=%d"; values have no line breaks. ibh_subject_ask() drops a
 * predicate's words after its row; words that a caller of ibh_subject_ask() sets remain until the caller truncates
 * `words`. */
G_GNUC_PRINTF(2, 3)
void ibh_subject_say(IbhSubject *about, const char *format, ...);
/* Asks all rows of a scope. For each row whose predicate is TRUE, adds a finding, or adds the subject's NICs to the
 * finding with which the row's finding is merged. Returns the last of these findings, or NULL if there is none. */
IbhFinding *ibh_subject_ask(IbhSubject *about, int scope);
