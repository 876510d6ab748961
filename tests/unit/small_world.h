/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All small hosts, each once: two NICs, what addresses they have, one rule of somebody's of each form at each place,
 * one route of main of each form, one setting. Where random worlds meet two rare things together by luck, these meet
 * all.
 */
#pragma once

#include <glib.h>

guint64 small_worlds(void); /* how many */
/* The lines of that number, from 0 on. */
GPtrArray *small_world(guint64 number);
