#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every system call of --apply fails in turn.
. "$(dirname "$0")/each-call-fails.sh"

each apply before applied "$IB_HOOK" --apply
