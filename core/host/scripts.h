/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the files are that speak of this network namespace's interfaces: managers' state, hook scripts.
 */
#pragma once

#include "model/model.h"

/* The prefix of /run and /etc. Another root (`sysfs` is not /sys) has them beside it; on a running system the
 * prefix is "", and the files describe the namespace of process 1. NULL: this is another namespace, or that cannot be
 * found out. */
char *ibh_host_root(const char *sysfs);

/* Fills in the snapshot's scripts: hand-written files of root's, where the managers look for hooks and rules. */
void ibh_host_read_scripts(const char *sysfs, IbhSnapshot *snapshot);
