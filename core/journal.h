/*
 * Lines for the system's log: the journal, else syslog, else standard error. Never waits.
 */
#pragma once

#include <syslog.h>

void ibh_log(int priority, const char *message); /* LOG_ERR, LOG_WARNING, LOG_INFO … */
/* To standard error, and only if nobody has to wait for it; in a signal handler, too. */
void ibh_log_last(const char *text);
/* Each line of a text. */
void ibh_log_lines(int priority, const char *lines);
