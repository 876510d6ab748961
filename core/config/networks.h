/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of the configuration that are addresses and networks. Pure.
 */
#pragma once

#include "model/model.h"

/* FALSE: it is no address, or `ret_reason`, which the caller frees, says why it cannot be a gateway. */
gboolean ibh_networks_is_gateway(const char *text, char **ret_reason);
/* The IbhPrefix of a list like "10.0.0.0/8, 172.16.0.0/12". NULL: `ret_reason` says why, or the text is no list of
 * prefixes. The caller frees both. */
GArray *ibh_networks_parse(const char *text, char **ret_reason);
