# shellcheck shell=bash disable=SC2016 # Markdown's quotes
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/doc/troubleshooting.md, as its readers use it: what they see → what to ask.

guide=$(dirname "${BASH_SOURCE[0]}")/../packaging/doc/troubleshooting.md

guide_section() { # SYMPTOM: how a heading begins → its section
    awk -v symptom="$1" '/^##/ { inside = index($0, "# `" symptom) || index($0, "# " symptom) } inside' "$guide"
}

guide_asks() { # SYMPTOM: its commands, one per line
    guide_section "$1" | sed -n '/^- Run/,/^- Do/p' | sed '/^- Do/d' | grep -o '`[^`]*`' | tr -d '`' | grep 'ib-hook' || true
}
