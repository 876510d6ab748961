#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# NetworkManager's dispatcher is masked, or disabled, as systemctl does it: no hook is called, and --check says so, with the
# commands that cure it. With ib-hook-watch.service it is a note.
. "$(dirname "$0")/lib.sh"

service=NetworkManager-dispatcher.service
if [ "$MODE" = watch ]; then
    host systemctl -q mask "$service"
    expect_check "$RAILS"
    expect_equal "with --watch it is a note" info "$(jq -r '.findings[] | select(.code == "hook-inactive") | .severity' $work/check.json)"
    host systemctl -q unmask "$service"
    exit 0
fi

cured_by() { # WHAT COMMAND…: what is found, and its advice
    local advice
    says " hook-inactive" || fail "$1: what --check finds" "$(<$work/check.json)"
    expect_equal "$1: the cause" "$service is $1" "$(jq -r '.findings[] | select(.code == "hook-inactive") | .owner' $work/check.json)"
    happens down ib1
    expect_unrepaired "$1: and no hook is called" rails_are ib0:941:172.16.34.1
    advice=$(jq -r '.findings[] | select(.code == "hook-inactive") | .advice' $work/check.json)
    expect_contains "$1: the advice" "; sudo systemctl enable --now ib-hook-watch.service" "$advice" # masked in this mode
    advice=${advice%%; or *}
    host sh -c "${advice//sudo /}" 2>/dev/null
    event up ib1
    expect_repaired "$1: its advice was followed" "$RAILS"
}
idle() { ! host systemctl -q is-active "$service"; }
wait_until 30 idle
host systemctl -q mask "$service"
cured_by masked
wait_until 30 idle
host systemctl -q disable "$service" 2>/dev/null
cured_by disabled
