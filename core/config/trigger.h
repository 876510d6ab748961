/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trigger is what a network manager's call of a hook means. Pure.
 *
 * A run looks at live state, so an event tells only whether to run at all, which interface the administrator took down,
 * and whether the manager is still at work.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>

typedef struct {
    bool wanted;         /* false if no rail can have changed, so there is nothing to run */
    bool early;          /* the manager has not set the addresses yet, and will not call us when it has */
    char down[IFNAMSIZ]; /* the interface that was taken down on purpose; "" if there is none */
    char cause[64];      /* for the journal: "NetworkManager: ib1 up" */
} IbhTrigger;

/* These functions do not trust the arguments and the environment, which come from the caller of the hook. */
IbhTrigger ibh_trigger_nm(int argc, char **argv);
IbhTrigger ibh_trigger_networkd(char **envp);
IbhTrigger ibh_trigger_ifupdown(char **envp);
/* RHEL calls "ifup-local INTERFACE" and "ifdown-local INTERFACE", which are the same program. */
IbhTrigger ibh_trigger_ifcfg(int argc, char **argv);
