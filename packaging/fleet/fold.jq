# What ib-hook --check --json and --probe --json said on many hosts, folded into one report. Exit status 1: not all is good.
#
#   clush -a … | jq -nRrf fold.jq            lines "HOST: {…}" or "3: HOST: {…}", and what clush -b makes of them
#   grep -H '' * | jq -nRrf fold.jq          a file per host, with its name: clush --outdir=DIRECTORY, srun -o DIRECTORY/%N
#
#   --arg hosts 'n[01-12],login1'            who should have reported
#   --rawfile names /etc/hosts               whose addresses are those of hosts that did not
#   --argjson rails 8                        how many rails each host should have: one that is gone is named until a reboot only
#
# (jq joins what a file ends with, where it has no end of line, to the next file: grep does not.)
#
# jq 1.6 copies what a += changes: hosts are many, so facts are collected in one list, and grouped.

def expand: # "n[01-12],login1" → names
    [scan("(?:[^,\\s\\[]|\\[[^\\]]*\\])+")][]
    | if test("\\[") | not then .
      else capture("^(?<a>[^\\[]*)\\[(?<set>[^\\]]*)\\](?<z>.*)$") as $n | $n.set | split(",")[] | split("-")
        | (.[0] | length) as $width | range(.[0] | tonumber; (.[-1] | tonumber) + 1) | tostring
        | $n.a + "0" * ($width - length) + . + $n.z | expand
      end;

def clean: gsub("[\\x00-\\x1f\\x7f-\\x{9f}]"; "?"); # for a terminal

# ---- reading: lines → {host, text} → facts ----

def dashes: test("^-{3,}\\s*$");
def labelled: # clush -b puts a name, or several, between two lines of dashes
    foreach inputs as $line ({hosts: null, is_name: false};
        if $line[:3] == "---" and ($line | dashes) then .is_name |= not | .line = ""
        elif .is_name then .hosts = [$line | sub(" \\([0-9]+\\)\\s*$"; "") | expand] | .line = ""
        else .line = $line end; .)
    | .line as $line
    | if .hosts then {host: .hosts[], text: $line}
      else ($line[:300] | capture("^(?<all> *(?:[0-9]+: )?(?:[^\\s:{]*/)?(?<host>[[:alnum:]_.-]+): ?)") // {host: "?", all: ""})
           | {host: (.host | sub("\\.(json|out|txt)$"; "")), text: $line[(.all | length):]} end;

def facts($host):
    ["host", $host],
    (.error | objects | ["finding", $host, "", "error", "exit-\(.exit)", .message]),
    (select(.ok != true and .error == null and .findings == [] and ([.pairs[]?.problems[]] == []))
     | ["finding", $host, "", "error", "not-ok", "and nothing says why"]),
    (.rails | arrays | ["rails", $host, length, "--check"]),
    (.pairs | arrays | select(length > 0) | ["rails", $host, (map(.iface) | unique | length), "--probe"]),
    (.rails[]? | .iface as $iface | .addresses[]? | ["own", sub("/.*"; ""), $host, $iface]),
    (.rails[]? | .iface as $iface | [.addresses[]? | split("/") | select(.[1] and (.[1] | IN("32", "128") | not))
       | [(.[0] | test(":")), .[1]]] | unique | group_by(.[0])[] | select(length == 1)[0] # one subnet of each family
     | ["differs", "\($iface)\(if .[0] then " (IPv6)" else "" end)", $host, "prefix-differs", "/\(.[1])"]),
    (.rails[]? | select(.mtu) | ["differs", .iface, $host, "mtu-differs", "MTU \(.mtu)"]),
    ([.pairs[]?.problems[]] + ["peer-down", "separate-wires"] | unique) as $told # by the pairs themselves
    | (.findings[]? | select(.severity != "info" and (.code | IN($told[]) | not))
       | ["finding", $host, (.ifaces | join(",")), .severity, .code, .message]),
      (.pairs[]? | ["pair", $host, .iface, .peer, .received > 0, .problems]),
      (.pairs // [] | unique_by(.source)[] | ["own", .source, $host, .iface]);

[labelled | .host as $host | .text as $text | select($text | test("\\S"))
 | ($text | try fromjson catch null) as $report
 | if ($report | type) == "object" and ($report | has("ok")) then (try [$report | facts($host)] catch [["junk", $host, "a report of another form: \(.)"[:80]]])[]
   else ["junk", $host, $text[:80]] end] as $facts
| def told($kind): $facts[] | select(.[0] == $kind);

# ---- hosts ----

  def set(f): map({key: f, value: true}) | from_entries;
  ([told("host")] | set(.[1])) as $heard
# Who was asked two things may have answered one of them: "Killed", "a password is required". Errors say it themselves.
| ([told("rails")] | group_by(.[3]) | map({key: .[0][3], value: set(.[1])})) as $answers
| ([told("finding") | select(.[4] == "not-ok" or (.[4] | startswith("exit-")))] | set(.[1])) as $failed
| ([$heard | keys[] | select($failed[.] | not) as $host | $answers[] | select(.value[$host] | not) | [$host, .key]]) as $silent
| ($silent | set(.[0])) as $half
| ([told("junk") | select(($heard[.[1]] | not) or $half[.[1]] or (.[2] | test("^\\s*\\{")))]
   | group_by(.[1]) | map(last)) as $junk
| ($junk | set(.[1])) as $said
| ($silent | map(select($said[.[0]] | not))) as $silent
| ([told("rails")] | group_by(.[1]) | map(min_by(.[3]))) as $rails # --check knows it better
| ([$ARGS.named.hosts // "" | expand] | unique) as $expected
| ($expected - ($heard | keys) - ($junk | map(.[1]))) as $missing

# ---- what hosts must not share, and what they should ----

| ([told("own")] | unique | group_by(.[1]) | map(select(map(.[2]) | unique | length > 1))) as $doubles
| ([told("differs")] | group_by([.[1], .[3]]) | map(. as $all | group_by(.[4]) | max_by(length) as $most
   | select(($most | length) * 2 > ($all | length)) | .[] | select(.[0][4] != $most[0][4])
   | {rail: .[0][1], code: .[0][3], has: .[0][4], hosts: map(.[2]), most: $most[0][4]})) as $outliers

# ---- pairs: [host, rail, peer, came through, problems, the peer's host, the peer's rail, on wires of their own] ----

| ($ARGS.named.names // ""
   | [split("\n")[] | capture("^\\s*(?<key>[0-9a-fA-F.:]+)\\s+(?<value>[^\\s#]+)")] | from_entries) as $names
| ([told("own") | {key: .[1], value: .[2:]}] | from_entries) as $own
| [told("pair") | .[1:] + ($own[.[3]] // [$names[.[3]], null])] as $all
| def from: "\(.[0]) \(.[1])";

# Rails of two names are on wires of their own if most such pairs are lost, dead rails aside, and most of each name's own
# are not. Such a pair has to be lost. The wire of an address that is no known rail's is unknown: some rail has to reach it.
  ([$all[] | select(.[3]) | from, "\(.[5]) \(.[6])"] | set(.)) as $alive
| ($all | map(select(.[6] and $alive[from] and $alive["\(.[5]) \(.[6])"])) | group_by([.[1], .[6]])
   | map({key: "\(.[0][1]) \(.[0][6])", value: ((map(select(.[3])) | length) * 2 - length)}) | from_entries) as $margin
| def apart: .[6] != null and .[1] != .[6] and $margin["\(.[1]) \(.[6])"] <= 0
      and ($margin["\(.[1]) \(.[1])"] // -1) >= 0 and ($margin["\(.[6]) \(.[6])"] // -1) >= 0;
  ($all | map(. + [apart])) as $all
| ($all | any(.[7])) as $wires
| ([$all[] | select(.[3])] | set(.[2])) as $reached
| ($all | map(select(.[3] or (.[7] or ($wires and .[6] == null and $reached[.[2]]) | not)))) as $pairs

# Who reaches more of those on other wires than of those on his own has another rail's cable.
| (if $pairs | any(.[7]) | not then {}
   else $pairs | group_by(from)
        | map(select((map(select(.[7])) | length) > (map(select(.[3] and (.[7] | not))) | length))
              | {key: .[0] | from, value: (map(select(.[7]) | .[6]) | unique)}) | from_entries
   end) as $swapped
| [$pairs[] | select($swapped[from] or $swapped["\(.[5]) \(.[6])"] | not)
   | if .[7] then .[4] = ["wrong-wire"] else . end] as $pairs
| [$pairs[] | . as $pair | .[4][] | {code: ., pair: $pair}] as $bad

# A rail, or an address, that has a problem with all is named once: with all that were asked, or of which a reply came.
| def whole(key):
      ($bad | map(.pair) | set(key)) as $keys
      | ([$pairs[] | select($keys[key])] | group_by(key)
         | map({key: .[0] | key, value: {asked: length, heard: map(select(.[3])) | length}}) | from_entries) as $of
      | [$bad | group_by([.code, (.pair | key)])[] | $of[.[0].pair | key] as $n
         | select(length > 1 and (length == $n.asked or (length == $n.heard and .[0].code != "probe-lost"))) | .[0]];
  whole(.[2]) as $to
| whole(from) as $by
| ($to | set("\(.code) \(.pair[2])")) as $is_to
| ($by | set("\(.code) \(.pair | from)")) as $is_by
| def rails: # [host, rail, …] of many → "ib0 ib1 of n1 n2, ib3 of n4"
      group_by(.[0]) | map([.[0][0], (map(.[1]) | unique | join(" "))]) | group_by(.[1])
      | map("\(.[0][1]) of \(map(.[0]) | join(" "))") | join(", ");
  def peer: .[2] + if .[6] then " (\(.[5]) \(.[6]))" elif .[5] then " (\(.[5]))" else "" end;
  [ ($to[] | {code, peer: .pair | peer, whom: "all rails"}),
    ($bad | map(select(($is_to["\(.code) \(.pair[2])"] or $is_by["\(.code) \(.pair | from)"]) | not))
     | group_by([.code, .pair[2]])[] | {code: .[0].code, peer: .[0].pair | peer, whom: map(.pair) | rails}) ] as $named

# ---- the report ----

| [ ($missing | select(length > 0) | "missing: \(join(" "))"),
    ($junk[] | "unreadable: \(.[1]): \(.[2])"),
    ($silent | group_by(.[1])[] | "\(map(.[0]) | join(" ")): error incomplete: nothing of \(.[0][1]), others have it"),
    ($rails | group_by(.[2])[] | select(.[0][2] < ($ARGS.named.rails // 0 | tonumber))
     | "\(map(.[1]) | join(" ")): error rail-gone: \(.[0][2]) rails, expected \($ARGS.named.rails)"),
    ([told("finding")] | group_by(.[2:5])[] | (map(.[1]) | unique) as $hosts
     | "\($hosts | join(" ")): \(.[0][2] | if . == "" then . else . + ": " end)\(.[0][3]) \(.[0][4]): \(.[0][5])"
       + if map(.[5]) | unique | length > 1 then " (and more like it)" else "" end),
    ($doubles[] | "\(map("\(.[2]) \(.[3])") | join(", ")): error duplicate-address: all of them have \(.[0][1])"),
    ($outliers[] | "\(.hosts | join(" ")): \(.rail): warning \(.code): \(.has), most hosts have \(.most)"),
    ($swapped | to_entries[] | "\(.key): wrong-wire: it reaches \(.value | join(" ")) of other hosts: another rail's cable"),
    ($by | group_by(.code)[] | "\(map(.pair) | rails): \(.[0].code): to all peers"),
    ($named | group_by([.code, .whom])[] | "\(map(.peer) | join(", ")): \(.[0].code): from \(.[0].whom)")
  ] as $lines
| "hosts: \($heard | length) reported, \($missing | length) missing, \($junk | length) unreadable; "
  + "\($all | length) pairs of rail and peer; " + if $heard == {} and $lines == [] then "no host reported" elif $lines == [] then "all good" else "\($lines | length) to see to:" end,
  ($lines[] | clean),
  ($rails | group_by(.[2]) | select(length > 1)
   | "note: hosts differ: " + (map("\(.[0][2]) rails: " + (map(.[1]) | unique | join(" "))) | join("; ")) | clean),
  (if $heard == {} or $lines != [] then "" | halt_error(1) else empty end)
