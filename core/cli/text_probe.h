/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe as text: who reached whom, by which NICs.
 */
#pragma once

#include "cli/report.h"

void ibh_put_probe(GString *out, const IbhProbe *probe, const IbhStyle *style);
