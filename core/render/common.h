/*
 * What the formats share.
 */
#pragma once

#include "render/render.h"

/* A rail that was asked for, and whose name a text can hold. */
gboolean ibh_render_has(const IbhRender *render, const IbhNic *nic);
gboolean ibh_render_has_family(const IbhRender *render, int family);

gboolean ibh_render_is_printable(const char *name);

/* Why it is as it is: each line becomes a comment. */
void ibh_render_comment(GString *out, const char *text);
/* What the formats cannot say of this host: NICs left out, and with `native`, main=spread and main=remove. */
void ibh_render_left_out(GString *out, const IbhRender *render, gboolean native);

/* Of these sysctls, what ib-hook sees to: not what it only found, nor what is kept. */
gboolean ibh_render_wants(const IbhRender *render, const IbhNic *nic, IbhSysctl key, int *ret_value);

/* Of names that may not be kept; NULL: of none. */
char *ibh_render_udev_warning(const IbhRender *render);

/* One per format. */
typedef char *IbhFormatFunction(const IbhRender *render, GError **error);
IbhFormatFunction ibh_render_iproute2, ibh_render_sysctl, ibh_render_rt_tables, ibh_render_netplan, ibh_render_networkd,
    ibh_render_ifupdown, ibh_render_ifcfg, ibh_render_nmcli, ibh_render_nm_keyfile, ibh_render_udev;
