/*
 * What is wrong, why it matters, and what to do: findings from the plan and from the kernel's own answers. Pure: the
 * questions are asked in between (run.c).
 */
#pragma once

#include "plan/plan.h"

typedef enum { IBH_ERROR, IBH_WARNING, IBH_INFO } IbhSeverity;

const char *ibh_severity_name(IbhSeverity severity);

typedef struct {
    char iface[IFNAMSIZ];
    IbhSeverity severity;
    const char *code; /* stable: monitoring depends on it */
    char *message;
    char *fix; /* a command, or what to do */
} IbhFinding;

/* Takes `fix`. */
G_GNUC_PRINTF(6, 7)
void ibh_finding_add(GPtrArray *findings, const char *iface, IbhSeverity severity, const char *code, char *fix,
                     const char *format, ...);
void ibh_finding_free(gpointer finding);

typedef enum {
    IBH_ASK_LEAVES,  /* what the rail's address sends to a neighbour leaves by the rail */
    IBH_ASK_ARRIVES, /* what a neighbour sends to it by the rail is accepted */
    IBH_ASK_LOCAL,   /* what it sends to ourselves stays here */
    IBH_ASK_UNBOUND  /* what is bound to no address has a way, though main lacks the connected route */
} IbhQuestionKind;

typedef struct {
    IbhQuestionKind kind;
    const IbhNic *nic;
    IbhLookup lookup;
} IbhQuestion;

gboolean ibh_question_is_well_answered(const IbhRails *rails, const IbhQuestion *question);

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only); /* IbhQuestion */

/* `plan`: what --apply would do; `questions`: answered. */
GPtrArray *ibh_check_judge(const IbhRails *rails, const IbhPlan *plan, const GArray *questions,
                           const char *const *only); /* IbhFinding * */

/* Errors and warnings make it not ok; of one interface, or (NULL) of all. */
gboolean ibh_check_is_ok(const GPtrArray *findings, const char *iface);
