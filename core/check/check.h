/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check: the questions that we ask the kernel, and the findings. Findings come from the kernel's answers, from the
 * plan, and from what was read of this host, for example foreign rules and routes, NICs with their addresses and
 * neighbours, managers and scripts. From each address of a rail, we follow one packet into every piece of the address's
 * zones (questions.c has the exceptions). Packets that are alike, and for which the same rule and route decide, form a
 * class (add_question() says what makes packets alike). The kernel is asked about one packet of each class. Pure.
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
    IBH_ASK_LEAVES,  /* from an address of a rail (in fixes.c, nics.c and wires.c, also of other NICs) to another host;
                        or to a single address of this host on a NIC that is no candidate, such as lo (cut_world() in
                        pieces.c) */
    IBH_ASK_ARRIVES, /* from another host to a rail's address, coming in through the rail */
    IBH_ASK_LOCAL,   /* from a rail's address to an address of this host */
    IBH_ASK_UNBOUND  /* without a source address, to a rail's subnet; in fixes.c, to any piece */
} IbhQuestionKind;

/* How well a packet goes. IBH_RIGHT needs no finding. Each other grade stands for a severity of findings: info, warning
 * and error, in this order (`severities` in verdict.c). To "note" a packet or its route is to give the packet the grade
 * IBH_NOTED. A packet "goes wrong" if its grade is IBH_DOUBTFUL or IBH_WRONG. */
typedef enum { IBH_RIGHT, IBH_NOTED, IBH_DOUBTFUL, IBH_WRONG } IbhGrade;

typedef struct IbhQuestion {
    IbhQuestionKind kind;
    const IbhNic *nic;   /* the NIC that has the source address (IBH_ASK_ARRIVES: the destination; IBH_ASK_UNBOUND: the
                            subnet). Two exceptions: NULL in find_harm() (fixes.c); any NIC in would_answer()
                            (wires.c) */
    IbhPrefix piece;     /* the piece in which the other host lies; for IBH_ASK_LOCAL, the destination alone */
    gboolean is_foreign; /* IBH_ASK_LEAVES: we leave the packet to foreign rules (ibh_nic_leaves_to_others()) */
    /* For a packet from an address without a subnet to a host on the address's link: the length of the link's prefix
     * (ibh_check_find_link_prefix()). 0 for all other packets, and if a zone covers that prefix. */
    guint link_length;
    IbhLookup lookup;
    gboolean asked;       /* the kernel is asked this question; else the answer to `representative` counts */
    guint representative; /* the index (in IbhCheck.questions) of the question that is asked for this class */
    /* The result of the walk through the model `actual` (IbhCheck). For IBH_ASK_ARRIVES, `got` keeps this value. For
     * the other kinds, ibh_check_judge() takes two steps, each of which may change `got`:
     * 1. If the kernel's route has another type or NIC than the walk's (agrees() in verdict.c), and we have read the
     *    kernel's route, `got.route` becomes the kernel's route; `got.rule` stays. But if the walk delivers the packet
     *    to this host, `got` does not change.
     * 2. If `got` now agrees with the kernel, and the packet goes wrong, the packet is also walked through the model
     *    `repaired`. If the packet goes another way there than in `actual`, and goes wrong there, too, `got` becomes
     *    the result of that walk. */
    IbhTrace got;
    /* ibh_check_judge() sets the members from here on, after the kernel has answered. `grade` is the grade of `got`
     * (ibh_question_grade()), with three exceptions, all for kinds other than IBH_ASK_ARRIVES:
     * - IBH_RIGHT if `right_when_repaired`.
     * - IBH_DOUBTFUL if the walk delivers the packet to this host itself, but the kernel does not.
     * - IBH_DOUBTFUL if the kernel's answer fits neither the walk nor a route that was read. */
    IbhGrade grade;
    gboolean small_mtu; /* the way is right, but the MTU of the packet's route is too small: smaller than that of the
                           route in the model `ideal` or, without such an MTU, smaller than the NIC's. Only for
                           IBH_ASK_LEAVES, and only with a foreign route that is not cached */
    IbhOwner owner;     /* the foreign rule or route that causes a grade other than IBH_RIGHT; empty if we know none */
    gboolean is_explained;        /* a finding about the packet exists, and no second finding is needed */
    gboolean right_when_repaired; /* the packet goes wrong now, but not in the model `repaired`: our rules or routes are
                                     missing, altered or stale, or a link has our mark as its group (which --apply does
                                     not change). ours.c or the finding link-group reports this cause, so `grade` is
                                     IBH_RIGHT */
} IbhQuestion;

/* A prefix, without the smaller pieces inside. For packets from one source, the same rules and routes (of those that we
 * have read) decide about all addresses of the piece. Three kinds of prefixes become no pieces, so other rules and
 * routes may decide there: addresses that no other host can have, prefixes in fe80::/10 that only routes name, and
 * prefixes that only old rules of ours name. */
typedef struct {
    IbhPrefix prefix;
    IbhIp host;             /* an address of the piece, outside of the smaller pieces and of the addresses that no
                               other host can have */
    gboolean asked_unbound; /* there is a question of the kind IBH_ASK_UNBOUND about this piece already */
} IbhPiece;

typedef struct IbhCheck {
    const IbhRails *rails;
    const IbhFacts *facts;
    const char *const *only; /* the interfaces that the user asks about; NULL: all */
    GArray *questions;       /* IbhQuestion */

    GArray *own;                       /* IbhRoute: the local routes to this host's addresses */
    IbhFib *actual, *ideal, *repaired; /* the models (IbhModelKind) */
    GArray *without;     /* IbhOwner: rules and routes that walks through `ideal` and `repaired` ignore, because fixes.c
                            tries what happens without these rules and routes */
    GArray *pieces;      /* IbhPiece, in the order of ibh_prefix_compare(); without single addresses that no other host
                            can have, and without prefixes that longer prefixes cover completely */
    GHashTable *classes; /* a class of questions, as text (see add_question()) → 1 + the index of its representative,
                            the one question that the kernel is asked */
    gboolean has_source_routes6; /* IPv6 has routes with a source prefix ("from"), which only the kernel can follow */
    gboolean has_rule_before_local; /* the first rule of IPv4 or of IPv6 does not lead to table local */
    gboolean asks_bound; /* also ask about packets of sockets that are bound to the NIC, because a foreign rule has oif,
                            or IPv4 has error routes */
    guint8 neutral;      /* IPv4: the IP protocol with which we ask the kernel: of ICMP, TCP and UDP, the one that the
                            fewest rules name */

    const GPtrArray *plan; /* IbhOp *: what --apply would do if it left held NICs alone */
    const GArray *missed;  /* IbhKnownRail: missing rails (check/missing.h) */
    GPtrArray *findings;   /* IbhFinding * */
    guint tried;           /* for how many owners we have looked for a fix */
} IbhCheck;

/* Returns a check with the questions for the kernel. The caller then asks the kernel each question that has `asked`
 * (ibh_netlink_lookup()). `facts` must have the routes now, and all else when ibh_check_judge() is called. The check
 * borrows the arguments. */
IbhCheck *ibh_check_new(const IbhRails *rails, const IbhFacts *facts, const char *const *only);
void ibh_check_free(IbhCheck *check);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhCheck, ibh_check_free)

/* Adds findings once the questions are answered. `plan` is what --apply would do if it left held NICs alone; `missed`
 * has the missing rails. `findings` already has the findings about RDMA ports, which may explain why a rail is missing.
 * The check borrows all three. */
void ibh_check_judge(IbhCheck *check, const GPtrArray *plan, const GArray *missed, GPtrArray *findings);

/* Adds findings about sections of the configuration that match no interface and no missing rail. */
void ibh_rails_judge_sections(const IbhRails *rails, const IbhConfig *config, const GArray *missed,
                              GPtrArray *findings);
/* Returns the smallest number of letters to insert, remove or replace that turns `word` into `name`; G_MAXUINT if one
 * of the two has more than 32 letters. */
guint ibh_text_count_slips(const char *word, const char *name);

/* TRUE if one of the NIC's served addresses (IbhNic.served) has exactly this subnet. */
gboolean ibh_nic_serves_subnet(const IbhNic *nic, const IbhPrefix *subnet);
/* For an address that has no subnet, sets `ret_prefix` to the shortest prefix that contains the address and that the
 * main table routes on link through the address's NIC. Such a prefix is the network on the NIC's wire. The default
 * route and routes to single hosts do not count. FALSE if there is no such route, or if the address has a subnet. */
gboolean ibh_check_find_link_prefix(const IbhCheck *check, const IbhAddress *address, IbhPrefix *ret_prefix);
/* TRUE if IbhNic.programmed has an address of this family. */
gboolean ibh_nic_programs_family(const IbhNic *nic, int family);
/* TRUE if foreign rules route packets from this address to `to`: the pair with the longest prefix that contains `to`
 * decides. If no pair's prefix contains `to`, TRUE if the address has pairs, and foreign rules route all of them. */
gboolean ibh_nic_leaves_to_others(const IbhNic *nic, const IbhAddress *address, const IbhIp *to);
/* TRUE if the check asks about packets from this address of the NIC to other hosts. */
gboolean ibh_check_asks_from(const IbhCheck *check, const IbhNic *nic, const IbhIp *from);
/* Returns the NIC's first address in whose subnet `ip` lies, or NULL. The snapshot owns the address. */
const IbhAddress *ibh_nic_address_near(const IbhNic *nic, const IbhIp *ip);

/* ---- models.c: the host's routing as it is, as it should be, and as it would be with all our rules and routes ---- */

/* All models have the local routes of ibh_snapshot_own_routes() (IbhCheck.own), even if the kernel lacks one.
 * IDEAL and REPAIRED have the rules and routes of main=spread as they stand. In both, a link whose group is our mark
 * counts as a link of the default group. */
typedef enum {
    IBH_MODEL_IDEAL,   /* as it should be: the kernel's own rules, the tables main and default, AnyIP, and the rules and
                          routes that we want */
    IBH_MODEL_ACTUAL,  /* as it is: the rules and routes of the snapshot, and the routes of the facts */
    IBH_MODEL_REPAIRED /* as after --apply: our rules and routes replaced by those that we want */
} IbhModelKind;

/* Returns one local route (IbhRoute) to each address for which ibh_address_is_in_local() is TRUE. The caller frees the
 * array. */
GArray *ibh_snapshot_own_routes(const IbhSnapshot *snapshot);
/* TRUE for a VRF and its ports: the kernel keeps the routes to their addresses in the table of the VRF. */
gboolean ibh_link_is_in_vrf(const IbhSnapshot *snapshot, const IbhLink *link);
/* TRUE if the kernel has, or should have, a route to this address in table local. A link that is down may keep IPv6
 * addresses (keep_addr_on_down), but not their routes. */
gboolean ibh_address_is_in_local(const IbhSnapshot *snapshot, const IbhAddress *address);
/* Adds the snapshot's rules and routes; without `with_ours`, adds only foreign rules and routes. */
void ibh_fib_add_snapshot(IbhFib *fib, const IbhSnapshot *snapshot, gboolean with_ours);
IbhFib *ibh_check_model_new(const IbhCheck *check, IbhModelKind kind);

/* Walks a packet through the model `actual`: from this address of the host to the IbhPiece.host of the first piece that
 * the prefix covers. Sets `ret_question` to a question about this packet, with this NIC and the trace of the walk, but
 * without a grade. The kernel is not asked. FALSE if the prefix covers no piece. */
gboolean ibh_check_walk_into(const IbhCheck *check, const IbhNic *nic, const IbhIp *from, const IbhPrefix *prefix,
                             IbhQuestion *ret_question);

/* Loops over the routes of the facts, then over those of the snapshot; `break` ends the loop over one list only. Routes
 * that both lists have, such as connected routes of main, come twice. The facts come first because they have whole
 * tables in the kernel's order, and among routes with the same prefix and metric the first counts. */
#define IBH_EACH_ROUTE(x, check)                                                                                       \
    for (int x##_list = 0; x##_list < 2; x##_list++)                                                                   \
        IBH_EACH (const IbhRoute, x, x##_list ? (check)->rails->snapshot->routes : (check)->facts->routes)

/* TRUE for our rules, for rules that lead to table local or to VRFs, and for all rules whose priority is that of the
 * rule for main (IBH_PRIORITY_MAIN) or a higher number. */
gboolean ibh_rule_is_expected(const IbhRule *rule);

/* wires.c: TRUE if the kernel made the entry without asking: on a link without ARP or without hardware addresses, or
 * for a multicast or broadcast address. */
gboolean ibh_neighbour_is_unasked(const IbhLink *link, const IbhNeighbour *neighbour);

/* fixes.c: TRUE if the packet's grade is not IBH_RIGHT, and `owner` is the packet's owner. An empty `owner` fits
 * each packet without an owner. */
gboolean ibh_question_is_caused_by(const IbhQuestion *question, const IbhOwner *owner);

/* ---- pieces.c: all addresses, cut by the prefixes that rules and routes name ---- */

void ibh_check_cut_pieces(IbhCheck *check); /* sets check->pieces */
/* Returns the first of the pieces that this prefix covers, and sets `*ret_end` to the place behind the last of these
 * pieces. If there are none, returns `*ret_end`. */
IbhPiece *ibh_check_pieces_inside(const IbhCheck *check, const IbhPrefix *prefix, IbhPiece **ret_end);

/* ---- say.c: owners, and where a packet goes, in words; the caller frees the texts ---- */

/* "rule 100: from all lookup 700", "route …" or "cached route …"; "" for no owner */
char *ibh_owner_describe(const IbhSnapshot *snapshot, const IbhOwner *owner);
/* "sudo ip -4 rule del priority 100 from all lookup 700"; the owner must not be empty */
char *ibh_owner_deletion(const IbhSnapshot *snapshot, const IbhOwner *owner);
/* "rule 100 (from all lookup 700)"; for a route or no owner, the same as ibh_owner_describe() */
char *ibh_owner_text(const IbhSnapshot *snapshot, const IbhOwner *owner);

/* "172.16.34.2 leaves through ib0" */
char *ibh_question_way_text(const IbhCheck *check, const IbhQuestion *question);
/* "172.16.34.2 to 10.50.0.0/16 has mtu 1400": the metrics of the packet's route; the packet must have a route */
char *ibh_question_metrics_text(const IbhQuestion *question);
/* "but 172.16.34.0/26 through eth0: route …", to append to a text that says where the NIC's other packets go */
char *ibh_question_exception_text(const IbhCheck *check, const IbhQuestion *question);
/* TRUE for a packet of the kind IBH_ASK_LEAVES that can leave through a NIC other than question->nic. If the packet has
 * a multipath route, one live next hop on another NIC is enough. */
gboolean ibh_question_goes_astray(const IbhQuestion *question);

/* ---- what several judges use: a judge is a function that adds findings ---- */

/* If there is a finding with this code and owner, adds the NIC (NULL: none) to that finding, and drops `remedy` and the
 * message. If there is no such finding, or if `owner` is NULL, makes a new finding about the NIC (NULL: the host). With
 * the owner "", all NICs share one finding of this code. The new finding has the severity of the code's first row in
 * ibh_rows and, if `remedy` is empty, the remedy of that row as its advice. Takes over the strings of `remedy`. Returns
 * the finding. */
G_GNUC_PRINTF(6, 7)
IbhFinding *ibh_check_add_finding(const IbhCheck *check, const IbhNic *nic, const char *code, const char *owner,
                                  IbhRemedy remedy, const char *format, ...);
const char *ibh_check_link_name(const IbhCheck *check, int ifindex); /* "no interface" if the snapshot lacks the link */

void ibh_check_judge_packets(IbhCheck *check); /* adds findings from the kernel's answers */
/* Adds the finding about our rules, routes and sysctl values, and findings about foreign routes that are in the place
 * of routes that we want. */
void ibh_check_judge_ours(IbhSubject *about);
/* If lines of the script route rails, adds a finding about these lines. */
void ibh_script_judge(IbhSubject *about, const IbhScript *script);
/* Judges a missing rail, or a rail that is down or has no carrier. Adds a finding or, if there is a finding about the
 * rail's port that explains why, adds the rail to that finding. Does nothing if the user asks only about other
 * interfaces. */
void ibh_known_judge(IbhSubject *about, const IbhKnownRail *missed);

/* Looks for the first packet of the kind IBH_ASK_LEAVES from the rail to one of its subnets, and returns the table of
 * the packet's route. If there is no such packet, looks in the same way for a packet from an address without a subnet
 * to a host on the address's link (IbhQuestion.link_length). Refused packets do not count. Returns 0 if there is
 * neither. */
guint32 ibh_check_find_table(const IbhCheck *check, const IbhNic *nic);
/* TRUE if the subject's NIC might answer ARP as a proxy for the host that the question is about. Conditions:
 * - The NIC forwards IPv4.
 * - The question is about traffic without a source address to a whole IPv4 subnet of a rail.
 * - The NIC is a rail with this subnet; or it is no rail, but has the rail's link type, and has to be silent
 *   (ibh_nic_must_be_silent()).
 * If TRUE, sets the subject's `ip` to the host, and `route` to the route by which the kernel would forward packets that
 * come in through the NIC for the host. This route leads through another NIC; NULL if there is none, or if rp_filter
 * drops these packets. */
gboolean ibh_subject_find_proxied(IbhSubject *about);
/* TRUE if the IPv6 MTU is smaller than the link's, and accept_ra_mtu is not 0. With accept_ra_mtu=0, a smaller MTU is
 * on purpose. */
gboolean ibh_link_has_lowered_mtu6(const IbhLink *link);
gboolean ibh_link_has_lladdr(const IbhLink *link, const guint8 *lladdr, guint length);
gboolean ibh_link_is_missed(const GArray *missed, const IbhLink *link);
/* Advises remote= or gateway= for a rail that drops answers from a network behind another rail's gateway. */
IbhRemedy ibh_question_advise_gateway(const IbhCheck *check, const IbhQuestion *question);
/* Returns the name of the manager that configures the rail; NULL if not known. */
const char *ibh_known_manager(const IbhFacts *facts, const IbhKnownRail *known);
/* Returns the rail's PCI address, "0000:81:00.1"; NULL if not known, or not on PCI. The caller frees it. */
char *ibh_known_pci(const IbhKnownRail *known);
/* If the NIC is a usable rail, serves no address of this family now, and the family is not switched off: returns an
 * address of this family that the state remembers for the NIC; NULL if the state remembers none. Returns NULL in all
 * other cases. */
const IbhIp *ibh_check_find_lost_address(const IbhCheck *check, const IbhNic *nic, int family);

/* TRUE if the prefix is a subnet of a rail, or lies in one. */
gboolean ibh_rails_own_prefix(const IbhRails *rails, const IbhPrefix *prefix);

/* ---- grades.c, fixes.c: from a packet that is not right to its owner, and how to delete the owner ---- */

/* TRUE if both packets are refused, or if their routes have the same type, link, gateway and next hops. */
gboolean ibh_trace_is_same_way(const IbhTrace *a, const IbhTrace *b);
gboolean ibh_route_has_same_metrics(const IbhRoute *a, const IbhRoute *b);
/* TRUE if the way and the metrics (mtu, advmss, …) are the same. */
gboolean ibh_trace_is_same_answer(const IbhTrace *a, const IbhTrace *b);
/* TRUE for a bridge, tunnel or other virtual link (`soft` in grades.c) that is not a candidate, and has no port that
 * leads to a wire: the link's packets reach no peer of the rails. */
gboolean ibh_link_has_no_wire(const IbhRails *rails, const IbhLink *link);
/* TRUE if an IPv4 packet of the kind IBH_ASK_LEAVES leaves through another rail, via a gateway, and the effective
 * rp_filter is 1 on the packet's own rail (that of its source address): if the answer comes in through the packet's own
 * rail, the kernel drops the answer. FALSE if we leave the packet to foreign rules, and for a multipath route. */
gboolean ibh_question_loses_answers(const IbhCheck *check, const IbhQuestion *question);
void ibh_question_grade(const IbhCheck *check, IbhQuestion *question); /* sets `grade` and `small_mtu`, from `got` */

/* Returns the rule or route because of which the packet's grade is not IBH_RIGHT. Only a goto, a rule that is not
 * expected (ibh_rule_is_expected()), or a foreign route can be to blame. If none of these is, for example because no
 * table has a route, both members are NULL. */
IbhOwner ibh_check_find_owner(IbhCheck *check, const IbhQuestion *question);

/* Returns a fix: the commands that correct all packets of this owner. If the commands would, or may, also change
 * something else, returns advice instead, which says what. Returns an empty remedy if no commands are proved to work,
 * or if the owner must not be deleted. */
IbhRemedy ibh_check_find_fix(IbhCheck *check, const IbhOwner *owner);
