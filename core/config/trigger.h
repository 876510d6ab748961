/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Translates a network manager's call of a hook into its meaning for us. Pure.
 *
 * A run looks at live state, so only this counts of an event: whether to run at all, which interface was taken down on
 * purpose, and whether its change is yet to come.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>

typedef struct {
    bool wanted;         /* false: the event changes nothing for us */
    bool early;          /* the manager has not finished, and does not call again when it has */
    char down[IFNAMSIZ]; /* the interface that was taken down on purpose; "": none was */
    char cause[64];      /* for the journal: "NetworkManager: ib1 up" */
} IbhTrigger;

/* argv of the hook; envp as from environ: nothing in them is trusted. */
IbhTrigger ibh_trigger_nm(int argc, char **argv);
IbhTrigger ibh_trigger_networkd(char **envp);
IbhTrigger ibh_trigger_ifupdown(char **envp);
/* RHEL's ifup-local and ifdown-local INTERFACE: the program's name tells which one it is. */
IbhTrigger ibh_trigger_ifcfg(int argc, char **argv);
