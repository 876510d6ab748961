/*
 * Lines for the system's log: the journal, else syslog, else standard error. Never waits.
 */
#pragma once

#include <syslog.h>

/* To standard error, and only if nobody has to wait for it; in a signal handler, too. */
void ibh_log_last(const char *text);
void ibh_log_lines(int priority, const char *lines); /* LOG_WARNING, LOG_INFO … */
