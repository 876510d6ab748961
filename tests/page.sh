# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Pages for people, as tests read them: which blocks of commands a page has, how it says that they are tested, and whether
# a command prints the output that stands there. There, "..." is anything, and round trips are other numbers.

# page_blocks PAGE: of each indented block "@ MARKER", then its lines. The marker is the end of the paragraph before:
# "Tested …:" or "Not tested …:". Without one it is "@ none".
page_blocks() {
    awk '
        function marker(text) {
            return match(text, /([Nn]ot )?[Tt]ested[^.;]*:$/) ? substr(text, RSTART, RLENGTH - 1) : "none"
        }
        /^    / && !list {
            if (!inside) print "@ " marker(text)
            inside = 1
            print gaps substr($0, 5)
            gaps = ""
            next
        }
        /^$/ { if (inside) gaps = gaps "\n"; else gap = 1; next }
        {
            if (gap || inside) text = ""
            text = text (text == "" ? "" : " ") $0
            inside = gap = 0
            gaps = ""
        }' "$1"
}

# page_story PAGE MARKER: of the blocks with a marker that has these words, "run HOST COMMAND" and "shows TEXT", one per line
page_story() {
    page_blocks "$1" | MARKER=$2 awk '
        /^@ / { wanted = index(tolower($0), "@ tested") == 1 && index($0, ENVIRON["MARKER"]); next }
        !wanted { next }
        match($0, /^[a-z0-9]+[#$] /) { print "run", substr($0, 1, RLENGTH - 2), substr($0, RLENGTH + 1); next }
        { print "shows", $0 }'
}

# page_file PAGE MARKER: the lines of the block with this marker
page_file() {
    page_blocks "$1" | MARKER=$2 awk '/^@ / { wanted = index($0, ENVIRON["MARKER"]); next } wanted'
}

squeeze() { # one line, single blanks, round trips as N.NN
    tr -s ' \t\n' ' ' | sed -E 's/^ | $//g; :a; s/(^| )[0-9]+\.[0-9]{2}( |$)/\1N.NN\2/; ta; s/captured [0-9]+ files/captured N files/'
}

compare() { # PAGE COMMAND EXPECTED GOT
    local pattern
    pattern=$(squeeze <<<"$3" | sed 's/[][*?\\]/\\&/g; s/\.\.\./*/g')
    # shellcheck disable=SC2053 # a pattern
    [[ $(squeeze <<<"$4") == $pattern ]] || fail "$1: $2" "the page has: $(squeeze <<<"$3")
got:          $(squeeze <<<"$4")"
    ok "$1: $2"
}

# tell_story PAGE MARKER COMMAND: runs each command of these blocks by COMMAND HOST TEXT; its output has to be the page's.
# Leaves in $told how many.
told=0
tell_story() {
    local kind text host="" command="" expected="" got=""
    told=0
    while read -r kind text || [ "$kind" ]; do
        if [ "$kind" = run ]; then
            [ -z "$command" ] || compare "${1##*/}" "$host: $command" "$expected" "$got"
            read -r host command <<<"$text"
            got=$("$3" "$host" "$command" 2>&1 </dev/null) || true
            expected="" told=$((told + 1))
        else
            expected+=$text$'\n'
        fi
    done < <(page_story "$1" "$2")
    [ -z "$command" ] || compare "${1##*/}" "$host: $command" "$expected" "$got"
}
