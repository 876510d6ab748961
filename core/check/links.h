/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quality of ports' links: their rate, that of their PCIe slot, and their errors. Pure.
 */
#pragma once

#include "check/ports.h"

/* `port-degraded`, `port-errors` */
void ibh_judge_links(IbhFabricJudge *judge);
