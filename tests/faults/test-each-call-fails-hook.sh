#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every system call of a hook fails in turn.
. "$(dirname "$0")/each-call-fails.sh"

each hook before applied "$HOOKS/nm-dispatcher" ib1 up
