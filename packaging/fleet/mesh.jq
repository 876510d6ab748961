# What ib-hook --probe --json said on many hosts that asked each other as mesh.awk has it: one matrix, a row for each host
# (hosts that are alike share one), a column for each rail. Exit status 1: something does not come through, or no host reported.
#
#   clush -a '… --probe --json …' | jq -nRrf mesh.jq      lines "HOST: {…}"
#   grep -H '' * | jq -nRrf mesh.jq                       a file per host, with its name
#
#   --argjson all true      a row for each host, also where all is well
#
#   .      all that this rail asked, and all that asked it, came through
#   3/6    three of six did; those with a dead rail do not count
#   dead   none did, of two at least
#   ?      it was not asked, and asked no other
#
# Rails have the same names on all hosts; between rails of different names nothing is looked at, if any are of the same.

def clean: gsub("[\\x00-\\x1f\\x7f-\\x{9f}]"; "?"); # for a terminal
def pad($width): . + " " * ($width - length);
def natural: [scan("[0-9]+|[^0-9]+") | tonumber? // .];

# ---- reading ----

[inputs | capture("^(?:[^\\s:{]*/)?(?<host>[[:alnum:]_.-]+): *(?<said>\\{.*)$")
 | .host |= sub("\\.(json|out|txt)$"; "") | .pairs = (try (.said | fromjson | .pairs) catch null)
 | select(.pairs | type == "array") | .host as $host | .pairs[] | {host: $host, iface, source, peer, good: (.received > 0)}] as $said
| ($said | map({key: .source, value: [.host, .iface]}) | from_entries) as $own
| ($said | map({from: [.host, .iface], to: ($own[.peer] // [.peer, null]), good})) as $known
| ($known | map(select(.from[1] == .to[1]))) as $same
| (if $same == [] then $known else $same + ($known | map(select(.to[1] == null))) end) as $pairs

# ---- dead rails: none of what they ask, nor of what asks them ----

| ([$pairs[] | {rail: (.from, .to), good}] | group_by(.rail)
   | map({rail: .[0].rail, all: length, good: (map(select(.good)) | length)})) as $rails
| ($rails | map(select(.good == 0 and .all > 1) | {key: (.rail | tojson), value: true}) | from_entries) as $dead
| ($pairs | map(select(($dead[.from | tojson] or $dead[.to | tojson]) | not))) as $others
| ([$others[] | {rail: (.from, .to), good}] | group_by(.rail)
   | map({key: (.[0].rail | tojson), value: {all: length, good: (map(select(.good)) | length)}}) | from_entries) as $of
| ($others | map(select(.good | not))) as $lost

# ---- the matrix ----

| ([$said[].host] | unique | sort_by(natural)) as $hosts
| ([$said[].iface] | unique | sort_by(natural)) as $columns
| def cell($host): ([$host, .] | tojson) as $rail
      | if $dead[$rail] then "dead" else ($of[$rail] // {all: 0}) | if .all == 0 then "?" elif .good == .all then "." else "\(.good)/\(.all)" end end;
  ($hosts | map(. as $host | {host: $host, cells: ($columns | map(cell($host)))})) as $rows
| (if $ARGS.named.all then $rows
   else $rows | map(select(any(.cells[]; . != "."))) | group_by(.cells) | sort_by(.[0].host | natural)
        | map({host: (.[0].host + if length > 1 then " +\(length - 1)" else "" end), cells: .[0].cells}) end) as $shown
| ([$shown[].host, "host"] | map(length) | max // 4) as $first
| ([$columns[], "dead"] | map(length) | max // 4) as $width
| def row($name; $cells): ([$name | pad($first)] + ($cells | map(pad($width))) | join("  ") | sub(" +$"; ""));
  def rail: "\(.[0])\(if .[1] then " " + .[1] else "" end)";
  "\($hosts | length) hosts; \($pairs | length) pairs; \($dead | length) dead rails, \($lost | length) other pairs lost",
  (if $shown == [] then empty else row("host"; $columns), ($shown[] | row(.host; .cells)) | clean end),
  ($dead | keys | map(fromjson) | group_by(.[1])[]
   | "dead: \(.[0][1] // "address") of \(map(.[0]) | unique | sort_by(natural) | join(" "))" | clean),
  ($lost | group_by(.from[1])[]
   | "lost: " + (map("\(.from | rail) to \(.to | rail)") | .[:8] | join(", ")) + (if length > 8 then " and \(length - 8) more" else "" end) | clean),
  (if $said == [] or ($dead | length) > 0 or $lost != [] then "" | halt_error(1) else empty end)
