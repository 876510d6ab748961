/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check: the packets that it is about, and findings from the kernel's answers to them, from the plan, and from
 * foreign rules, routes and NICs. Of each address of a rail, a packet goes into every piece that rules and routes cut
 * out of its subnets. Packets that the same rule and route decide are one class, and the kernel is asked about one of
 * each. Pure.
 */
#pragma once

#include "check/facts.h"
#include "check/finding.h"
#include "check/fib.h"
#include "check/row.h"
#include "check/why.h"
#include "plan/known.h"
#include "plan/plan.h"

typedef enum {
    IBH_ASK_LEAVES,  /* from a rail's address to another host */
    IBH_ASK_ARRIVES, /* from a host that the rail reaches, by the rail, to its address */
    IBH_ASK_LOCAL,   /* from it to ourselves */
    IBH_ASK_UNBOUND  /* without a source address, to a rail's subnet */
} IbhQuestionKind;

typedef enum { IBH_RIGHT, IBH_NOTED, IBH_DOUBTFUL, IBH_WRONG } IbhGrade;

typedef struct IbhQuestion {
    IbhQuestionKind kind;
    const IbhNic *nic;
    IbhPrefix piece;
    gboolean theirs; /* rules of others route its address */
    guint on_link;   /* its address names no subnet: the length of main's prefix around it; 0: it does */
    IbhLookup lookup;
    gboolean asked; /* the kernel is; else the answer of `like` stands for it, too */
    guint like;     /* the index of the question that is asked for this class */
    IbhTrace got;   /* by the rules and routes; once it is answered, where that is wrong, with all of ours in place */
    /* Once it is answered: */
    IbhGrade grade;        /* of that: ibh_question_grade() */
    gboolean small_mtu;    /* it goes the right way, by a route of others with a smaller MTU than main's or the NIC's */
    IbhOwner owner;        /* the cause, where it is not right */
    gboolean is_explained; /* a finding has it */
    gboolean ours;         /* it goes the wrong way, and would not if all of ours were there */
} IbhQuestion;

/* A part of the world in which the same rules and routes decide. */
typedef struct {
    IbhPrefix prefix;
    IbhIp host;       /* that lies in no smaller piece */
    gboolean unbound; /* it was asked without a source address */
} IbhPiece;

typedef struct IbhCheck {
    const IbhRails *rails;
    const IbhFacts *facts;
    const char *const *only;
    GArray *questions; /* IbhQuestion */

    GArray *own; /* IbhRoute: to the host's own addresses */
    /* The host's routing, as the snapshot has it; as it should be; and with all of ours in place. */
    IbhFib *actual, *ideal, *repaired;
    GArray *without;       /* IbhOwner: what the last two pass by as if it were not there */
    GArray *pieces;        /* IbhPiece, in order; none that has no other host, or that smaller ones cover */
    GHashTable *classes;   /* what decides, as text → index of the question that is asked, + 1 */
    gboolean special;      /* routes of IPv6 are for one source: only the kernel knows what they do */
    gboolean before_local; /* foreign rules, or that of VRFs, come before table local's */
    gboolean bound;        /* rules name a NIC by oif, or IPv4 has error routes */
    guint8 neutral;        /* an IP protocol that no rule names */

    const GPtrArray *plan;
    const GArray *missed; /* IbhKnownRail: rails that were there and are not */
    GPtrArray *findings;
    guint tried; /* how many fixes were looked for */
} IbhCheck;

/* With the questions for the kernel. Of the facts the routes are needed, the others before it judges. */
IbhCheck *ibh_check_new(const IbhRails *rails, const IbhFacts *facts, const char *const *only);
void ibh_check_free(IbhCheck *check);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhCheck, ibh_check_free)

/* The questions are answered. `plan`: what --apply would do; `findings`: begins with those of the RDMA ports, which
 * explain others. */
void ibh_check_judge(IbhCheck *check, const GPtrArray *plan, const GArray *missed, GPtrArray *findings);

/* Sections of the configuration that match no interface, and no rail that is missed. */
void ibh_rails_judge_sections(const IbhRails *rails, const IbhConfig *config, const GArray *missed,
                              GPtrArray *findings);
/* How many letters have to be put in, left out or replaced. */
guint ibh_text_count_slips(const char *word, const char *name);

gboolean ibh_nic_is_usable(const IbhNic *nic); /* up, with carrier */
gboolean ibh_nic_serves_subnet(const IbhNic *nic, const IbhPrefix *subnet);
/* Of an address that names no subnet, the widest prefix around it that main has on the link of its NIC. FALSE: none. */
gboolean ibh_check_find_link(const IbhCheck *check, const IbhAddress *address, IbhPrefix *ret_prefix);
/* TRUE if the NIC has an address of this family for which we want rules and routes. */
gboolean ibh_nic_programs_family(const IbhNic *nic, int family);
/* TRUE if foreign rules route packets from this address to `to`: the longest prefix of T that contains `to` decides. */
gboolean ibh_nic_leaves_to_others(const IbhNic *nic, const IbhAddress *address, const IbhIp *to);
/* TRUE if the check asks about packets from this address of the NIC to other hosts. */
gboolean ibh_check_asks_from(const IbhCheck *check, const IbhNic *nic, const IbhIp *from);
/* The address of this NIC in whose subnet `ip` lies; NULL: none. It belongs to the snapshot. */
const IbhAddress *ibh_nic_address_near(const IbhNic *nic, const IbhIp *ip);

/* ---- models.c: the host's routing as it is, as it should be, and as it would be with all of ours in place ---- */

typedef enum {
    IBH_MODEL_IDEAL,   /* table local, what we want, main */
    IBH_MODEL_ACTUAL,  /* the snapshot */
    IBH_MODEL_REPAIRED /* the snapshot, and what we want in the place of what is ours; no link has the group of our mark
                        */
} IbhModelKind;

/* IbhRoute: table local, as the kernel makes it of the addresses. */
GArray *ibh_snapshot_own_routes(const IbhSnapshot *snapshot);
/* All that the snapshot has; without `ours` as the host would be if we had never been there. */
void ibh_fib_add_snapshot(IbhFib *fib, const IbhSnapshot *snapshot, gboolean ours);
IbhFib *ibh_check_model_new(const IbhCheck *check, IbhModelKind kind);

/* What becomes now of a packet from this address of the NIC to a host of the prefix that no smaller piece has. FALSE:
 * there is no such host. */
gboolean ibh_check_walk_into(const IbhCheck *check, const IbhNic *nic, const IbhIp *from, const IbhPrefix *prefix,
                             IbhQuestion *ret_question);

/* Each route of the host, those of foreign tables too; `break` ends one list of the two. Tables that were read whole
 * come first, in the kernel's order: of routes with one prefix and metric the first one counts. */
#define IBH_EACH_ROUTE(x, check)                                                                                       \
    for (int x##_list = 0; x##_list < 2; x##_list++)                                                                   \
        IBH_EACH (const IbhRoute, x, x##_list ? (check)->rails->snapshot->routes : (check)->facts->routes)

/* One of ours, or of those that every host has. */
gboolean ibh_rule_is_expected(const IbhRule *rule);

/* The kernel made it without asking: the link's own hardware address where ARP is off, or a group's. */
gboolean ibh_neighbour_is_unasked(const IbhLink *link, const IbhNeighbour *neighbour);

/* It is not right, and this is why. */
gboolean ibh_question_is_caused_by(const IbhQuestion *question, const IbhOwner *owner);

/* ---- pieces.c: the world, cut by the prefixes that rules and routes name ---- */

void ibh_check_cut_pieces(IbhCheck *check); /* sets its pieces */
/* The first piece inside this prefix, and what comes after the last one. */
IbhPiece *ibh_check_pieces_inside(const IbhCheck *check, const IbhPrefix *prefix, IbhPiece **ret_end);

/* ---- say.c: causes, and where a packet goes, in words; the caller frees them ---- */

/* "rule 100: from all lookup 700"; "": none */
char *ibh_owner_describe(const IbhSnapshot *snapshot, const IbhOwner *owner);
char *ibh_owner_deletion(const IbhSnapshot *snapshot, const IbhOwner *owner); /* a command */
/* "rule 100 (from all lookup 700)" */
char *ibh_owner_text(const IbhSnapshot *snapshot, const IbhOwner *owner);

/* "172.16.34.2 leaves through ib0" */
char *ibh_question_way_text(const IbhCheck *check, const IbhQuestion *question);
/* "172.16.34.2 to 10.50.0.0/16 has mtu 1400" */
char *ibh_question_metrics_text(const IbhQuestion *question);
/* "but 172.16.34.0/26 through eth0: route …": behind what all else does */
char *ibh_question_exception_text(const IbhCheck *check, const IbhQuestion *question);
/* Another NIC sends it. */
gboolean ibh_question_goes_astray(const IbhQuestion *question);

/* ---- what judges share ---- */

/* For what no row finds. One cause, one finding: that of this code and owner hits this NIC (NULL: the host), too. If
 * there is none it is made, with the severity of its code, and its remedy where there is none. Without an owner it is
 * this NIC's alone; with "" the whole host's. */
G_GNUC_PRINTF(6, 7)
IbhFinding *ibh_check_add_finding(const IbhCheck *check, const IbhNic *nic, const char *code, const char *owner,
                                  IbhRemedy remedy, const char *format, ...);
const char *ibh_check_link_name(const IbhCheck *check, int ifindex);

void ibh_check_judge_packets(IbhCheck *check); /* the questions' answers */
void ibh_check_judge_ours(IbhSubject *about);
void ibh_script_judge(IbhSubject *about, const IbhScript *script);
void ibh_known_judge(IbhSubject *about, const IbhKnownRail *missed); /* a rail that was there and is not, or is down */

/* The table of the route that decides in the rail's subnet; 0: not known. */
guint32 ibh_check_find_table(const IbhCheck *check, const IbhNic *nic);
/* A NIC that forwards, and what peers ask it for: sets the host, and the route there. */
gboolean ibh_subject_find_proxied(IbhSubject *about);
/* IPv6 sends smaller packets there than the link takes, and nobody has said that it is to. */
gboolean ibh_link_has_lowered_mtu6(const IbhLink *link);
gboolean ibh_link_has_lladdr(const IbhLink *link, const guint8 *lladdr, guint length);
gboolean ibh_link_is_missed(const GArray *missed, const IbhLink *link);
/* remote= or gateway= for a rail whose answers are dropped otherwise. */
IbhRemedy ibh_question_advise_gateway(const IbhCheck *check, const IbhQuestion *question);
const char *ibh_known_manager(const IbhFacts *facts, const IbhKnownRail *known); /* NULL: not known */
char *ibh_known_pci(const IbhKnownRail *known); /* "0000:81:00.1"; NULL: not known. The caller frees it */
/* The address of this family that a rail had, and now it has none; NULL: it has one, or never had. */
const IbhIp *ibh_check_find_lost_address(const IbhCheck *check, const IbhNic *nic, int family);

/* It lies in a subnet of a rail. */
gboolean ibh_rails_own_prefix(const IbhRails *rails, const IbhPrefix *prefix);

/* ---- grades.c, fixes.c: from a packet that goes astray to its owner, and how to take that away ---- */

gboolean ibh_trace_is_same_way(const IbhTrace *a, const IbhTrace *b);
gboolean ibh_route_has_same_metrics(const IbhRoute *a, const IbhRoute *b);
/* And with the same metrics: mtu, advmss, … */
gboolean ibh_trace_is_same_answer(const IbhTrace *a, const IbhTrace *b);
/* A bridge, a dummy or a tunnel, and no NIC is a port of it: what it sends reaches no peer of the rails. */
gboolean ibh_link_has_no_wire(const IbhRails *rails, const IbhLink *link);
/* Main sends it through a gateway of another rail, and this one's rp_filter drops what comes back. */
gboolean ibh_question_is_answered_in_vain(const IbhCheck *check, const IbhQuestion *question);
void ibh_question_grade(const IbhCheck *check, IbhQuestion *question); /* of what it got */

IbhOwner ibh_check_find_owner(IbhCheck *check, const IbhQuestion *question);

/* The commands that make right all of which this owner is the cause, and change nothing else; or advice that says what
 * else it does. Neither: none are proved, or it is not one that a command may take away. */
IbhRemedy ibh_check_find_fix(IbhCheck *check, const IbhOwner *owner);
