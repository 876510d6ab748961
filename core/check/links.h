/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How good the links of ports are: their rate, that of their PCIe slot, and their errors. Pure.
 */
#pragma once

#include "check/ports.h"

/* `port-degraded`, `port-errors` */
void ibh_judge_links(IbhFabricJudge *judge);
