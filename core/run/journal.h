/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines for the system's log: the journal, else syslog, else standard error. Never waits.
 */
#pragma once

#include <glib.h>
#include <syslog.h>

void ibh_log_lines(int priority, const char *lines); /* LOG_WARNING, LOG_INFO … */
/* Of a command: never to standard error, which has its report. */
void ibh_log_command(const char *line);
/* A warning, unless it equals the last one: a lasting problem is reported once, not at every event. */
void ibh_log_complaint(const GString *warnings, GString *complained);
