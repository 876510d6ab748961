/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Properties that rails in one IP subnet must have in common. Pure.
 */
#pragma once

#include "check/ports.h"

/* `pkey-differs`, `subnet-prefix-differs`, `sm-differs`, `gid-index-differs` */
void ibh_judge_subnets(IbhFabricJudge *judge);
