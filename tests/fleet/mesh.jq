# What hosts say that asked those N/2, N/4, … places behind: $hosts, $rails; $asked: {"n0": [32, 16, 8], …}, from mesh.awk.
# $dead: ["n1 ib2", …]; $cut: {"ib3": 32}: from leaf to leaf, of so many hosts, that rail reaches nobody beyond its own.
def ok($host; $peer; $rail):
    any($dead[]; . == "n\($host) ib\($rail)" or . == "n\($peer) ib\($rail)") or
    ($cut["ib\($rail)"] as $leaf | $leaf != null and ($host / $leaf | floor) != ($peer / $leaf | floor)) | not;
range($hosts) as $host
| "n\($host): " + ({ok: true, findings: [], own: [], pairs: [$asked["n\($host)"][] as $peer | range($rails) as $rail | range($rails) as $to
    | {iface: "ib\($rail)", source: "172.\(16 + $rail).0.\($host)", peer: "172.\(16 + $to).0.\($peer)", sent: 3,
       received: (if $rail == $to and ok($host; $peer; $rail) then 3 else 0 end), problems: []}]} | tojson)
