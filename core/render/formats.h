/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats: one function each. render.c has the table of their names.
 */
#pragma once

#include "render/common.h"

/* The remark about names that udev cannot keep; NULL: none. */
char *ibh_render_udev_warning(const IbhRender *render);

/* One per format. */
typedef char *IbhFormatFunction(const IbhRender *render, GError **error);
IbhFormatFunction ibh_render_iproute2, ibh_render_sysctl, ibh_render_rt_tables, ibh_render_netplan, ibh_render_networkd,
    ibh_render_ifupdown, ibh_render_ifcfg, ibh_render_nmcli, ibh_render_nm_keyfile, ibh_render_udev;
