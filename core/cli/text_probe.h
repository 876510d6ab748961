/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe as text: which pairs reached each other, and by which NICs.
 */
#pragma once

#include "cli/report.h"

void ibh_put_probe(GString *out, const IbhProbe *probe, const IbhStyle *style);
