#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No packet is lost in slow motion: arp=strict, rp_filter=1.
. "$(dirname "$0")/slow-motion.sh"

slow_motion strict 1
