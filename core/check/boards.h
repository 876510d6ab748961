/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Properties that the adapters of a host must, or must not, have in common: firmware, link layer, GUIDs, IPoIB. Pure.
 */
#pragma once

#include "check/ports.h"

/* `guid-duplicate`, `no-ipoib`, `vpi-ethernet`, `firmware-differs` */
void ibh_judge_boards(IbhFabricJudge *judge);
