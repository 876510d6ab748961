/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ib-hook --watch: stays, and repairs what no network manager announces. It sleeps until the kernel reports a change.
 */
#pragma once

/* `config`, `sysfs`: NULL for the system's. Until SIGTERM or SIGINT; SIGHUP looks at once. Returns the exit status. */
int ibh_watch(const char *config, const char *sysfs);
