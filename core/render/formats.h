/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats: one function each. render.c has the table of their names.
 */
#pragma once

#include "render/common.h"

/* One per format. */
typedef char *IbhFormatFunction(const IbhRender *render);
IbhFormatFunction ibh_render_rt_tables, ibh_render_netplan, ibh_render_networkd, ibh_render_ifupdown, ibh_render_ifcfg,
    ibh_render_nmcli, ibh_render_env;
