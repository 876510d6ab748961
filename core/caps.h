/*
 * Capabilities: what is missing, and giving up what is not needed.
 */
#pragma once

#include <glib.h>

gboolean ibh_caps_have(int capability); /* CAP_NET_ADMIN, … */
/* Keeps CAP_NET_ADMIN and CAP_NET_RAW of what this process has, and lets it gain nothing. */
void ibh_caps_drop(void);
