/*
 * Lines for the system's log: the journal, else syslog, else standard error. Never waits.
 */
#pragma once

#include <syslog.h>

void ibh_log_lines(int priority, const char *lines); /* LOG_WARNING, LOG_INFO … */
