# What $hosts hosts with $rails rails on $wires wires say, "HOST: {…}" a line: --check, and --probe of the next $next hosts.
# $dead: ["n1 ib2", …]; $swapped: {"n2 ib0": 1, …}, rails on the wire of another one; $same: only rails of the same name.
def address($host; $rail): "172.\(16 + $rail).\($host / 256 | floor).\($host % 256)";
def wire($host; $rail): ($swapped["n\($host) ib\($rail)"] // $rail) % $wires;
def is_dead($host; $rail): any($dead[]; . == "n\($host) ib\($rail)");
def pair($host; $rail; $peer; $to):
    (wire($host; $rail) == wire($peer; $to) and (is_dead($host; $rail) or is_dead($peer; $to) | not)) as $ok
    | {iface: "ib\($rail)", source: address($host; $rail), peer: address($peer; $to), sent: 3, received: (if $ok then 3 else 0 end),
       rtt_ms: 0.103, route_iface: "ib\($rail)", reply_iface: "ib\($rail)", peer_lladdr: "02:00:00:00:10:00",
       reply_lladdr: "02:00:00:00:10:00", problems: (if $ok then [] else ["probe-lost"] end), $ok};

range($hosts) as $host
| "n\($host): " + (
    ({ok: true, others: [], findings: [], rails: [range($rails) | {iface: "ib\(.)", ifindex: (. + 2), type: "infiniband",
        rdma: "mlx5_\(.)/1", addresses: ["\(address($host; .))/12"], table: (941 + .), priority: 1941, main: "keep",
        manager: "NetworkManager", connection: "ib\(.)", engaged: true, why: "shares 172.16.0.0/12 with ib0", ok: true}]}),
    ({own: [], findings: [], pairs: [range(1; $next + 1) as $distance | range($rails) as $rail
        | (if $same then $rail else range($rails) end) as $to | pair($host; $rail; ($host + $distance) % $hosts; $to)]}
     | .ok = all(.pairs[]; .ok)) | tojson)
