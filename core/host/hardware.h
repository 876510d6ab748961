/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the hardware of a rail is, from sysfs.
 */
#pragma once

#include "model/model.h"

/* Fills in the slot: where its PCI address is not known, its RDMA port. FALSE: it is software (rxe, siw), which comes
 * and goes. */
gboolean ibh_hardware_find(const char *sysfs, IbhKnownRail *known);
/* Something is in its slot, and a driver has it: that of a pod or of a virtual machine, perhaps. Where the slot is not
 * known: its RDMA device is there. */
gboolean ibh_hardware_is_there(const char *sysfs, const IbhKnownRail *known);
