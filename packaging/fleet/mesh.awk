# Whom this host asks, so that N hosts need N times k probes and not N times N: the addresses of the hosts N/2, N/4, … places
# behind it in a list of all.
#
#   ib-hook --probe --json $(awk -v own="$(hostname -I)" -f mesh.awk hosts)
#
# hosts: a line for each, its name and an address of each rail: "n1 172.16.1.1 172.17.1.1". The host finds itself by its
# addresses, or with -v me=n1 by its name. -v k=3: how many hosts it asks (3).
BEGIN {
    n = split(own, address, " ")
    for (i = 1; i <= n; i++) is_own[address[i]] = 1
    k = k ? k : 3
}
NF < 2 { next }
{
    line[hosts + 0] = $0
    if ($1 == me) here = hosts + 0
    for (i = 2; i <= NF; i++) if ($i in is_own) here = hosts + 0
    hosts++
}
END {
    if (here == "") {
        print "mesh.awk: this host is none of the " hosts + 0 " of the list: -v own=\"ITS ADDRESSES\" or -v me=NAME" >"/dev/stderr"
        exit 1
    }
    for (step = int(hosts / 2); step >= 1 && k > 0; step = int(step / 2)) {
        fields = split(line[(here + step) % hosts], peer)
        for (i = 2; i <= fields; i++) print peer[i]
        k--
    }
}
