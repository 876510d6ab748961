#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No packet is lost in slow motion: arp=auto, rp_filter=0.
. "$(dirname "$0")/slow-motion.sh"

slow_motion auto 0
