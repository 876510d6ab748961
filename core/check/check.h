/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check: the questions for the kernel, and the findings from its answers, from the plan, and from foreign rules,
 * routes and NICs. For each address of a rail, we follow one packet into every piece of the rail's zones. Packets for
 * which the same rule and route decide form a class, and the kernel is asked about one packet of each class. Pure.
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
    IBH_ASK_ARRIVES, /* from another host to a rail's address, coming in through the rail */
    IBH_ASK_LOCAL,   /* from a rail's address to an address of this host */
    IBH_ASK_UNBOUND  /* without a source address, to a rail's subnet */
} IbhQuestionKind;

/* How well a packet goes. IBH_RIGHT needs no finding; the other grades have findings of severity info, warning and
 * error. A packet "goes wrong" if its way is graded IBH_DOUBTFUL or IBH_WRONG. */
typedef enum { IBH_RIGHT, IBH_NOTED, IBH_DOUBTFUL, IBH_WRONG } IbhGrade;

typedef struct IbhQuestion {
    IbhQuestionKind kind;
    const IbhNic *nic;   /* the NIC that has the address or, for IBH_ASK_UNBOUND, the subnet; NULL only in fixes.c */
    IbhPrefix piece;     /* the piece that has the other host; for IBH_ASK_LOCAL, the destination alone */
    gboolean is_foreign; /* foreign rules route the packet */
    /* For a packet from an address without a subnet to a host on the address's link: the length of the link's prefix
     * (ibh_check_find_link_prefix()). 0 for all other packets, and if a zone covers that prefix. */
    guint link_length;
    IbhLookup lookup;
    gboolean asked;       /* the kernel is asked this question; else the answer to `representative` counts */
    guint representative; /* the index of the question that is asked for this class */
    /* The result of the walk through `actual`. If the kernel names a different route, and we have read that route, the
     * kernel's route replaces the walk's. If the packet goes wrong, and with all our rules and routes in place it would
     * go another way but still go wrong, `got` becomes the result of the walk through `repaired`. */
    IbhTrace got;
    /* Set when the question has been answered: */
    IbhGrade grade;     /* of `got`; but IBH_RIGHT if `right_when_repaired`. If the kernel's answer fits no route that
                           was read: IBH_RIGHT if main, which has too many routes to be read, decides outside of the
                           rail's subnets, else IBH_DOUBTFUL. IBH_DOUBTFUL also if the kernel does not deliver a
                           packet from this host to itself */
    gboolean small_mtu; /* the way is right, but the route is foreign, not cached, and has a smaller MTU than the route
                           that should decide or, if that route has no MTU, than the NIC */
    IbhOwner owner;     /* the foreign rule or route that is the cause; empty if none is */
    gboolean is_explained;        /* a finding about the packet exists, and no second finding is needed */
    gboolean right_when_repaired; /* the packet goes wrong, but does not in the model `repaired`, because our rules or
                                     routes are missing, altered or stale, or because a link has our mark as its group
                                     (which --apply does not change; see the finding link-group) */
} IbhQuestion;

/* A prefix for which the same rules and routes decide, without the smaller pieces inside. */
typedef struct {
    IbhPrefix prefix;
    IbhIp host;             /* an address of the piece that lies in no smaller piece */
    gboolean asked_unbound; /* a question without a source address exists already */
} IbhPiece;

typedef struct IbhCheck {
    const IbhRails *rails;
    const IbhFacts *facts;
    const char *const *only; /* the interfaces that the user asks about; NULL: all */
    GArray *questions;       /* IbhQuestion */

    GArray *own;                       /* IbhRoute: to the host's own addresses */
    IbhFib *actual, *ideal, *repaired; /* the models (IbhModelKind) */
    GArray *without;     /* IbhOwner: rules and routes that walks through `ideal` and `repaired` ignore, because fixes.c
                            tries what happens without them */
    GArray *pieces;      /* IbhPiece, in order; without single addresses that no other host can have, and without
                            prefixes that longer prefixes cover completely */
    GHashTable *classes; /* a class of questions, as text (see add_question()) → 1 + the index of its representative,
                            the one question that the kernel is asked */
    gboolean has_source_routes6; /* IPv6 has routes with a source prefix ("from"), which only the kernel can follow */
    gboolean has_rule_before_local; /* the first rule of IPv4 or of IPv6 does not lead to table local */
    gboolean asks_bound; /* also ask about sockets bound to the NIC: a foreign rule has oif, or IPv4 has error routes */
    guint8 neutral;      /* IPv4: the IP protocol (ICMP, TCP or UDP) that the fewest rules name, for look-ups */

    const GPtrArray *plan; /* IbhOp *: what --apply would do */
    const GArray *missed;  /* IbhKnownRail: missing rails (check/missing.h) */
    GPtrArray *findings;   /* IbhFinding * */
    guint tried;           /* for how many owners we have looked for a fix */
} IbhCheck;

/* Returns a check with the questions for the kernel. `facts` must have the routes now, and all else when
 * ibh_check_judge() is called. */
IbhCheck *ibh_check_new(const IbhRails *rails, const IbhFacts *facts, const char *const *only);
void ibh_check_free(IbhCheck *check);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhCheck, ibh_check_free)

/* Adds findings once the questions are answered. `plan` is what --apply would do. `findings` already has the
 * findings about RDMA ports, which may explain other findings. */
void ibh_check_judge(IbhCheck *check, const GPtrArray *plan, const GArray *missed, GPtrArray *findings);

/* Adds findings about sections of the configuration that match no interface and no missing rail. */
void ibh_rails_judge_sections(const IbhRails *rails, const IbhConfig *config, const GArray *missed,
                              GPtrArray *findings);
/* Returns how many letters have to be inserted, removed or replaced to turn `word` into `name`; G_MAXUINT if one of the
 * two has more than 32. */
guint ibh_text_count_slips(const char *word, const char *name);

gboolean ibh_nic_is_usable(const IbhNic *nic); /* up, with carrier */
/* TRUE if one of the NIC's served addresses (IbhNic.served) has exactly this subnet. */
gboolean ibh_nic_serves_subnet(const IbhNic *nic, const IbhPrefix *subnet);
/* For an address that has no subnet, sets `ret_prefix` to the shortest prefix that contains the address and that the
 * main table routes on link through the address's NIC. Such a prefix is the network on the NIC's wire. The default
 * route does not count. FALSE if there is no such route, or if the address has a subnet. */
gboolean ibh_check_find_link_prefix(const IbhCheck *check, const IbhAddress *address, IbhPrefix *ret_prefix);
/* TRUE if the NIC has an address of this family for which we want rules and routes. */
gboolean ibh_nic_programs_family(const IbhNic *nic, int family);
/* TRUE if foreign rules route packets from this address to `to`: the pair with the longest prefix that contains `to`
 * decides. If no pair contains it, TRUE if foreign rules route all pairs of the address. */
gboolean ibh_nic_leaves_to_others(const IbhNic *nic, const IbhAddress *address, const IbhIp *to);
/* TRUE if the check asks about packets from this address of the NIC to other hosts. */
gboolean ibh_check_asks_from(const IbhCheck *check, const IbhNic *nic, const IbhIp *from);
/* Returns the first address of the NIC in whose subnet `ip` lies, or NULL. The snapshot owns the address. */
const IbhAddress *ibh_nic_address_near(const IbhNic *nic, const IbhIp *ip);

/* ---- models.c: the host's routing as it is, as it should be, and as it would be with all our rules and routes ---- */

/* All models have the local routes of ibh_snapshot_own_routes() (IbhCheck.own), even if the kernel lacks one.
 * IDEAL and REPAIRED have the rules and routes of main=spread as they stand. In both, a link whose group is our mark
 * counts as a link of the default group. */
typedef enum {
    IBH_MODEL_IDEAL,   /* as it should be: the kernel's own rules, the tables main and default, and the rules and routes
                          that we want */
    IBH_MODEL_ACTUAL,  /* the snapshot and the facts */
    IBH_MODEL_REPAIRED /* as after --apply: our rules and routes replaced by those that we want */
} IbhModelKind;

/* Returns the local route (IbhRoute) of each address that is in table local. */
GArray *ibh_snapshot_own_routes(const IbhSnapshot *snapshot);
/* TRUE for a VRF and its ports: the kernel keeps the routes to their addresses in the table of the VRF. */
gboolean ibh_link_is_in_vrf(const IbhSnapshot *snapshot, const IbhLink *link);
/* TRUE if the kernel has, or should have, a route to this address in table local. A link that is down may keep IPv6
 * addresses (keep_addr_on_down), but not their routes. */
gboolean ibh_address_is_in_local(const IbhSnapshot *snapshot, const IbhAddress *address);
/* Adds the snapshot's rules and routes; unless `with_ours`, only foreign rules and routes. */
void ibh_fib_add_snapshot(IbhFib *fib, const IbhSnapshot *snapshot, gboolean with_ours);
IbhFib *ibh_check_model_new(const IbhCheck *check, IbhModelKind kind);

/* Walks a packet from this address of the NIC to a host of the first piece inside the prefix. FALSE if there is no such
 * piece. */
gboolean ibh_check_walk_into(const IbhCheck *check, const IbhNic *nic, const IbhIp *from, const IbhPrefix *prefix,
                             IbhQuestion *ret_question);

/* Loops over the routes of the facts, then over those of the snapshot; `break` ends the loop over one list only.
 * The facts come first because they have whole tables in the kernel's order, and among routes with the same prefix and
 * metric the first counts. */
#define IBH_EACH_ROUTE(x, check)                                                                                       \
    for (int x##_list = 0; x##_list < 2; x##_list++)                                                                   \
        IBH_EACH (const IbhRoute, x, x##_list ? (check)->rails->snapshot->routes : (check)->facts->routes)

/* TRUE for our rules, for rules that lead to table local or to VRFs, and for all rules from the priority of main on. */
gboolean ibh_rule_is_expected(const IbhRule *rule);

/* TRUE if the kernel made the entry without asking: on a link without ARP, or for a multicast or broadcast address. */
gboolean ibh_neighbour_is_unasked(const IbhLink *link, const IbhNeighbour *neighbour);

/* TRUE if the packet does not go right, and `owner` is its owner. */
gboolean ibh_question_is_caused_by(const IbhQuestion *question, const IbhOwner *owner);

/* ---- pieces.c: all addresses, cut by the prefixes that rules and routes name ---- */

void ibh_check_cut_pieces(IbhCheck *check); /* sets check->pieces */
/* Returns the first piece that this prefix covers, or `*ret_end` if there is none. Sets `*ret_end` to the first piece
 * behind the prefix. */
IbhPiece *ibh_check_pieces_inside(const IbhCheck *check, const IbhPrefix *prefix, IbhPiece **ret_end);

/* ---- say.c: owners, and where a packet goes, in words; the caller frees the texts ---- */

/* "rule 100: from all lookup 700"; "" for no owner */
char *ibh_owner_describe(const IbhSnapshot *snapshot, const IbhOwner *owner);
/* "sudo ip -4 rule del priority 100 from all lookup 700" */
char *ibh_owner_deletion(const IbhSnapshot *snapshot, const IbhOwner *owner);
/* "rule 100 (from all lookup 700)" */
char *ibh_owner_text(const IbhSnapshot *snapshot, const IbhOwner *owner);

/* "172.16.34.2 leaves through ib0" */
char *ibh_question_way_text(const IbhCheck *check, const IbhQuestion *question);
/* "172.16.34.2 to 10.50.0.0/16 has mtu 1400" */
char *ibh_question_metrics_text(const IbhQuestion *question);
/* "but 172.16.34.0/26 through eth0: route …", to append to a text that says where the NIC's other packets go */
char *ibh_question_exception_text(const IbhCheck *check, const IbhQuestion *question);
/* TRUE if a packet of the kind IBH_ASK_LEAVES can leave through another NIC than its own. */
gboolean ibh_question_goes_astray(const IbhQuestion *question);

/* ---- what several judges use ---- */

/* Adds the NIC (NULL: the host) to the finding with this code and owner, or to a new one. A new finding has the
 * severity of its code and, if `remedy` is empty, the remedy of its code. If `owner` is NULL, the finding is about
 * this NIC only; if `owner` is "", all NICs share one finding of this code. */
G_GNUC_PRINTF(6, 7)
IbhFinding *ibh_check_add_finding(const IbhCheck *check, const IbhNic *nic, const char *code, const char *owner,
                                  IbhRemedy remedy, const char *format, ...);
const char *ibh_check_link_name(const IbhCheck *check, int ifindex);

void ibh_check_judge_packets(IbhCheck *check); /* adds findings from the kernel's answers */
void ibh_check_judge_ours(IbhSubject *about);  /* adds the finding about our rules, routes and sysctl values */
void ibh_script_judge(IbhSubject *about, const IbhScript *script);
void ibh_known_judge(IbhSubject *about, const IbhKnownRail *missed); /* a missing rail, or a rail that is down */

/* Returns the table of the route that decides in the rail's subnet or, for an address without a subnet, on its link; 0
 * if no packet was followed there, or if all of them are refused. */
guint32 ibh_check_find_table(const IbhCheck *check, const IbhNic *nic);
/* TRUE if the subject's NIC might answer ARP as a proxy for the host that the question is about: the NIC forwards, the
 * question is about unbound traffic to a whole IPv4 subnet of a rail, and the NIC either is a rail with this subnet, or
 * has the rail's link type and has to be silent (ibh_nic_must_be_silent()). Then sets `ip` to the host, and `route` to
 * the route there (NULL: none). */
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
/* Returns an address of this family that the rail had before, if the rail is usable, has no address of this family now,
 * and the family is not switched off; else NULL. */
const IbhIp *ibh_check_find_lost_address(const IbhCheck *check, const IbhNic *nic, int family);

/* TRUE if the prefix lies in a subnet of a rail. */
gboolean ibh_rails_own_prefix(const IbhRails *rails, const IbhPrefix *prefix);

/* ---- grades.c, fixes.c: from a packet that goes wrong to its owner, and how to delete the owner ---- */

/* TRUE if both packets are refused, or if their routes have the same type, link, gateway and next hops. */
gboolean ibh_trace_is_same_way(const IbhTrace *a, const IbhTrace *b);
gboolean ibh_route_has_same_metrics(const IbhRoute *a, const IbhRoute *b);
/* TRUE if the way and the metrics (mtu, advmss, …) are the same. */
gboolean ibh_trace_is_same_answer(const IbhTrace *a, const IbhTrace *b);
/* TRUE for a bridge, dummy or tunnel that is not a candidate and has no NIC as a port: its packets reach no peer of the
 * rails. */
gboolean ibh_link_has_no_wire(const IbhRails *rails, const IbhLink *link);
/* TRUE if an IPv4 packet leaves through a gateway of another rail, and rp_filter is 1 on the packet's own rail (that
 * of its source address): if the answer comes in through the packet's own rail, the kernel drops the answer. FALSE if
 * foreign rules route the packet, and for a multipath route. */
gboolean ibh_question_loses_answers(const IbhCheck *check, const IbhQuestion *question);
void ibh_question_grade(const IbhCheck *check, IbhQuestion *question); /* sets `grade` and `small_mtu`, from `got` */

/* Returns the rule or route because of which the packet's grade is not IBH_RIGHT. Both members are NULL if no foreign
 * route and no unexpected rule (ibh_rule_is_expected()) is to blame. */
IbhOwner ibh_check_find_owner(IbhCheck *check, const IbhQuestion *question);

/* Returns the commands that correct all packets of this owner and change nothing else; or, if they would change
 * something else, advice that says what. Returns an empty remedy if no commands are proved to work, or if the owner
 * must not be deleted. */
IbhRemedy ibh_check_find_fix(IbhCheck *check, const IbhOwner *owner);
