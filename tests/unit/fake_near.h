/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fake kernel answers what an event asks (host/snapshot.c).
 */
#pragma once

#include "fake_kernel.h"
#include "host/snapshot.h"

/* What is read, whether it is enough or not; the answer number `fails_in` fails, 0: none. NULL: an error. */
IbhSnapshot *fake_near_read(const FakeKernel *kernel, const IbhSnapshot *all, const IbhConfig *config, guint fails_in,
                            GError **error);
/* What is read of `all`, a snapshot of everything; NULL: that is not enough to know. */
IbhSnapshot *fake_near(const FakeKernel *kernel, const IbhSnapshot *all, const IbhConfig *config);
/* The tables that were asked for, of near and of everything. */
void fake_read_tables(const FakeKernel *kernel, IbhSnapshot *snapshot);
/* Once it was planned by: did that ask for no more? */
gboolean fake_near_is_enough(const FakeKernel *kernel, const IbhSnapshot *all, IbhSnapshot *near);
