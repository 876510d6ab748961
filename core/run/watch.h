/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ib-hook --watch: stays, and repairs what no network manager announces. It sleeps until the kernel reports a change.
 */
#pragma once

#include <glib.h>

/* `config`, `sysfs`: NULL for the system's. Until SIGTERM or SIGINT; SIGHUP looks at once. FALSE: it could not begin.
 */
gboolean ibh_watch(const char *config, const char *sysfs);
