/*
 * Where the files are that speak of this network namespace's interfaces: managers' state, hook scripts.
 */
#pragma once

#include <glib.h>

/* What to put before /run and /etc. A captured tree (`sysfs` is not /sys) has them beside its sys; on a running system
 * ("") they speak of the namespace of process 1. NULL: that is not this one, or nobody can tell. */
char *ibh_host_root(const char *sysfs);
