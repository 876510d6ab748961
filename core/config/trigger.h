/*
 * What a network manager calls a hook with → what that means to us. Pure.
 *
 * A run looks at live state, so all that counts of an event is whether to run at all, which interface was taken down on
 * purpose, and whether what it tells of is yet to come.
 */
#pragma once

#include <glib.h>
#include <net/if.h>

typedef struct {
    gboolean wanted;     /* FALSE: the event changes nothing for us */
    gboolean early;      /* the manager is not done yet, and does not call again when it is */
    char down[IFNAMSIZ]; /* "": none was */
} IbhTrigger;

/* argv of the hook; envp as from environ: nothing in them is trusted. */
IbhTrigger ibh_trigger_nm(int argc, char **argv);
IbhTrigger ibh_trigger_networkd(char **envp);
IbhTrigger ibh_trigger_ifupdown(char **envp);
IbhTrigger ibh_trigger_rhel(int argc, char **argv); /* ifup-local and ifdown-local tell up from down */
