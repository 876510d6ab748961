/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of nm.so share.
 */
#pragma once

#include <NetworkManager.h>

/* NULL: there is no answer within this time. It lives until the process ends. */
NMClient *ibh_nm_ask(guint milliseconds);
NMDevice *ibh_nm_find_device(NMClient *client, int ifindex);
