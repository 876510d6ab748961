/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The work of ib-hook in other tools' languages: the whole end state, not the difference. Pure.
 *
 * A format is one line of a table in render.c: a name, and a function that writes text.
 */
#pragma once

#include "render/common.h"

gboolean ibh_render_knows(const char *format);
char *ibh_render_formats(void); /* "netplan, networkd, …" */
char *ibh_render(const char *format, const IbhRender *render);
