/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the adapters of a host have in common, or must not have: firmware, link layer, GUIDs, IPoIB. Pure.
 */
#pragma once

#include "check/ports.h"

/* `guid-duplicate`, `no-ipoib`, `vpi-ethernet`, `firmware-differs` */
void ibh_judge_boards(IbhFabricJudge *judge);
