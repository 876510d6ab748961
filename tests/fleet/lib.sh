# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What every test here starts with: `. "$(dirname "$0")/lib.sh"`: all of ../netns/lib.sh, and in addition
#
#   $fleet         packaging/fleet, what is under test
#   $UNPACKED      services of Debian packages that are not installed (build/fleet)
#   http           asks a service in a host's namespace
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/netns/lib.sh
. "$here/../netns/lib.sh"

# shellcheck disable=SC2154 # of ../netns/lib.sh
fleet=$top/packaging/fleet
UNPACKED=$IBH_BUILD/fleet
: "$fleet" "$UNPACKED"

# http HOST PORT PATH → the body
http() {
    on "$1" curl --silent --show-error --fail --max-time 5 --globoff "http://127.0.0.1:$2$3"
}
