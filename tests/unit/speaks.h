/*
 * Whether findings say what, where, why it matters and what to do: as far as a program can tell.
 */
#pragma once

#include <glib.h>

void assert_findings_speak(const GPtrArray *findings); /* IbhFinding * */
