/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the files are that speak of this network namespace's interfaces: managers' state, hook scripts.
 */
#pragma once

#include "model/model.h"

/* What to put before /run and /etc. A captured tree (`sysfs` is not /sys) has them beside its sys; on a running system
 * ("") they speak of the namespace of process 1. NULL: that is not this one, or nobody can tell. */
char *ibh_host_root(const char *sysfs);

/* Fills in the snapshot's scripts: what root has put, by hand, where the managers look for hooks and rules. */
void ibh_host_read_scripts(const char *sysfs, IbhSnapshot *snapshot);
