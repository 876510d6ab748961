#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every system call of --undo fails in turn.
. "$(dirname "$0")/each-call-fails.sh"

each undo applied before "$IB_HOOK" --undo
