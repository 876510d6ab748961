#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Ansible role on two booted systems, by ssh: what a check says is what a run does; a second run does nothing; hosts without
# rails, or without addresses yet, are hosts, too; who is cut off, or cannot be configured, comes back, and ends the rollout; what
# --check finds is told.
. "$(dirname "$0")/../netns/lib.sh"
[ "$rooted" = yes ] || skip "systems can only be booted by root"
needs ansible-playbook ansible-lint ssh ssh-keygen dpkg-scanpackages
DEB=${DEB:-$(find "$IBH_BUILD" -maxdepth 2 -name 'ib-hook_*.deb' | sort | tail -n 1)}
[ -d "$("$tests/../managers/images" layers nm-ssh | cut -d: -f1)" ] || skip "there are no systems: tests/managers/images build nm-ssh networkd-ssh"
[ -f "$DEB" ] || skip "there is no package to test: make deb"

export LC_ALL=C.UTF-8 # or Ansible does not start
(cd "$top/packaging/ansible" && ansible-lint --offline -q --nocolor rollout.yml roles >/run/lint 2>&1) || fail "ansible-lint" "$(</run/lint)"
ok "ansible-lint has nothing to say"

hosts="nm networkd"
lab=$(mktemp -d) # not below /run: each boot has its own
export IBH_KEEP=$lab
export DEB KEY=$lab/key LIMIT=${LIMIT:-300}
ssh-keygen -q -t ed25519 -N "" -f "$KEY"

over() {
    for host in $hosts; do [ ! -p "$lab/$host/over" ] || timeout 10 tee "$lab/$host/over" </dev/null; done
    wait
    rm -rf "$lab"
}
trap '[ $n_fail = 1 ] || echo "1..$n_ok"; over' EXIT

boot() { # HOST: in namespaces of its own; process 1 of them is boot
    mkdir "$lab/$1"
    env -u IBH_LAB unshare --mount --pid --fork --kill-child=TERM --mount-proc bash "$tests/../managers/boot" "$1-ssh" before "$lab/$1" \
        "$tests/../fleet/system.sh" >"$lab/$1/boot.log" 2>&1 </dev/null &
    echo $! >"$lab/$1/pid"
}

booted() { # HOST
    kill -0 "$(<"$lab/$1/pid")" 2>/dev/null || fail "boot of $1" "$(cat "$lab/$1"/*.log)"
    [ -e "$lab/$1/ready" ]
}

beside() { # HOST COMMAND…: where it was booted
    nsenter -t "$(pgrep -P "$(<"$lab/$1/pid")")" -m -p -- "${@:2}"
}

# shellcheck disable=SC2016 # for the inner shell
at() { # HOST COMMAND…: in it
    beside "$1" sh -c 'exec nsenter -t "$(cat /run/test/leader)" -m -u -i -n -p -C -- "$@"' sh "${@:2}"
}

on_all() { # COMMAND…: what each says, in a line
    for host in $hosts; do at "$host" "$@" || true; done | paste -sd' '
}

# Both have the same addresses, each on a wire of its own: ssh is run beside it, and comes from FROM. Connections are kept here
# alone: elsewhere those of another run would serve hosts of the same name.
write_inventory() {
    cat >"$lab/ansible.cfg" <<-END
	[defaults]
	roles_path = $top/packaging/ansible/roles
	home = $lab/home
	host_key_checking = False
	display_skipped_hosts = False
	nocows = True
	[ssh_connection]
	pipelining = True
	control_path_dir = $lab/ssh
	END
    : >"$lab/inventory"
    for host in $hosts; do
        cat >"$lab/$host/ssh" <<-END
	#!/bin/sh
	exec nsenter -t $(pgrep -P "$(<"$lab/$host/pid")") -m -p -- nsenter --net=/run/netns/A \\
	    ssh -F none -b \$FROM -i $KEY -o HostName=10.9.0.34 -o LogLevel=ERROR -o UserKnownHostsFile=/dev/null "\$@"
	END
        chmod +x "$lab/$host/ssh"
        echo "$host ansible_user=root ansible_python_interpreter=/usr/bin/python3 ansible_ssh_executable=$lab/$host/ssh" >>"$lab/inventory"
    done
    mkdir "$lab/group_vars" "$lab/host_vars"
    echo '{ib_hook_config: {interface ib*: {manage: yes}}, ib_hook_probe_peers: [172.16.16.1, 172.16.16.2]}' >"$lab/group_vars/all"
    echo "ib_hook_package_file: $DEB" >"$lab/host_vars/nm"
    echo 'ib_hook_watch: "false"' >"$lab/host_vars/networkd" # a string, as -e and an INI inventory make it
    grep -v -e '^#' -e serial: -e any_errors_fatal: "$top/packaging/ansible/rollout.yml" >"$lab/together.yml" # it is quicker
}
export FROM=10.9.0.16 ANSIBLE_CONFIG=$lab/ansible.cfg ANSIBLE_NOCOLOR=1

playbook=$lab/together.yml
# play STATUS NAME ARGUMENT…: leaves what it said in $lab/NAME.log, and in NAME.changed which tasks change something, and where
play() {
    local status=0
    ansible-playbook -i "$lab/inventory" "$playbook" "${@:3}" >"$lab/$2.log" 2>&1 </dev/null || status=$?
    [ $status = "$1" ] || fail "$2: expected exit status $1, got $status" "$(<"$lab/$2.log")"
    echo "# $2: until second $SECONDS"
    awk '/^(TASK|RUNNING HANDLER) / { task = $0; sub(/ \**$/, "", task) }
        /^changed: / { print $2, task }' "$lab/$2.log" | sort >"$lab/$2.changed"
}

# What it says of routing and of files, but for the name of Ansible's own temporary file; hosts in any order.
told() { # NAME
    awk '/^TASK \[ib_hook : Routing\]/,/^$/; /^--- before/,/^$/' "$lab/$1.log" | sed 's|^+++ after: .*|+++ after|' | sort
}

expect_check_was_right() { # CHECK RUN
    expect_equal "$2: tasks that changed something are those that the check named" "$(<"$lab/$1.changed")" "$(<"$lab/$2.changed")"
    expect_equal "$2: commands and differences are those that the check showed" "$(told "$1")" "$(told "$2")"
}

# shellcheck disable=SC2016 # for the inner shell
state_of() { # HOST: all that the role may change
    at "$1" sh -c 'ip -d rule; ip -d route show table all; cd /proc/sys/net/ipv4/conf; grep . */rp_filter */arp_*
        find /etc/ib-hook /etc/systemd/system /usr/bin/ib-hook /run/ib-hook /var/lib/ib-hook* -printf "%p %s %l\n" | sort; cat /etc/ib-hook/*
        systemctl is-active ib-hook-watch' 2>&1 || true
}

rails_of() { # HOST: ADDRESS:TABLE…
    at "$1" ip -j rule | jq -r '.[] | select((.src | startswith("172.16.34.")) and .table != "main") | "\(.src):\(.table)"' | sort | paste -sd' '
}

has_rails() { # HOST
    [ "$(rails_of "$1")" = "172.16.34.1:941 172.16.34.2:942" ]
}

expect_rails() { # HOST
    expect_equal "$1: rules" "172.16.34.1:941 172.16.34.2:942" "$(rails_of "$1")"
    expect_equal "$1: ib-hook --check" "[]" "$(at "$1" ib-hook --check --json | jq -c '[.findings[] | select(.severity != "info")]')"
}

expect_gone() { # HOST: where a first installation failed
    expect_equal "what was installed on $1 for it is gone" "" "$(at "$1" sh -c 'ls -d /usr/bin/ib-hook /etc/ib-hook/*
        ip rule | grep 1941; ip route show table 942; grep -l [12] /proc/sys/net/ipv4/conf/ib?/arp_ignore' 2>/dev/null || true)"
}

forget() { # HOST: it never had ib-hook
    at "$1" sh -c 'dpkg --purge ib-hook && rm -rf /etc/ib-hook && ls /run/ib-hook' >"$lab/forget.log" 2>&1 || true
    expect_contains "$1 forgets" "cannot access '/run/ib-hook'" "$(<"$lab/forget.log")"
}

for host in $hosts; do boot "$host"; done
for host in $hosts; do wait_until 30 booted "$host"; done
write_inventory
# One host gets the file, with a configuration that is there already; the other one asks its repository, and has none.
at networkd rm -r /etc/ib-hook
at networkd mkdir /srv/packages
at networkd sh -c 'cat >/srv/packages/ib-hook.deb' <"$DEB"
(cd "$(dirname "$DEB")" && dpkg-scanpackages . 2>/dev/null) | sed 's|^Filename: .*ib-hook_.*|Filename: ./ib-hook.deb|' |
    at networkd sh -c 'cat >/srv/packages/Packages'
at networkd sh -c 'rm -f /etc/apt/sources.list; echo "deb [trusted=yes] file:/srv/packages ./" >/etc/apt/sources.list.d/own.list
    apt-get -qq update'

# ---- nothing to do: one host gets its addresses later, the other one has no rails
at nm cp -a /etc/ib-hook /root/
for nic in ib0 ib1; do at nm nmcli connection down $nic; done >"$lab/down.log"
echo "ib_hook_config: {interface ib*: {manage: no}}" >>"$lab/host_vars/networkd"
play 0 early-check --check --diff
expect_contains "a check of a host without rails" "stays as it is" "$(told early-check)"
play 0 early --diff
expect_check_was_right early-check early
expect_equal "rules" "" "$(rails_of nm)$(rails_of networkd)"
for nic in ib0 ib1; do at nm nmcli connection up $nic; done >"$lab/up.log"
wait_until 10 has_rails nm
ok "when the addresses come, they are routed"
sed -i '/^ib_hook_config/d' "$lab/host_vars/networkd"
forget networkd

# ---- it cannot be configured
strict='{ib_hook_config: {interface ib*: {manage: yes, arp: strict}}, ib_hook_confirm_seconds: 20}'
state_of nm >"$lab/nm/before"
at nm mount --bind -o ro /etc/ib-hook /etc/ib-hook
play 2 unwritable -l nm -e "$strict"
at nm umount /etc/ib-hook
expect_equal "nm is as it was" "$(<"$lab/nm/before")" "$(state_of nm)"
expect_contains "what is said" "nm could not be configured: it is as it was before" "$(<"$lab/unwritable.log")"

# ---- the kernel refuses a part of it; and ib-hook all of it
at nm mount --bind -o ro /proc/sys/net/ipv4/conf/ib1/arp_filter /proc/sys/net/ipv4/conf/ib1/arp_filter
echo "ib_hook_host_config: {interface ib0: {arp: perhaps}}" >>"$lab/host_vars/networkd"
play 2 refused -e "$strict"
at nm umount /proc/sys/net/ipv4/conf/ib1/arp_filter
expect_contains "what is said" "arp_filter" "$(grep 'nm could not be reached, or did not confirm' -A 3 "$lab/refused.log")"
expect_contains "a bad configuration" "arp=perhaps" "$(<"$lab/refused.log")"
nobody_waits() { ! at nm pgrep -f -- '--confirm 20' >"$lab/waits"; }
wait_until 20 nobody_waits
expect_equal "nm is as it was, and stays so" "$(<"$lab/nm/before")" "$(state_of nm)"
expect_gone networkd
sed -i '/^ib_hook_host_config/d' "$lab/host_vars/networkd"
forget nm
at nm cp -a /root/ib-hook /etc/

# ---- what it would do
for host in $hosts; do state_of "$host" >"$lab/$host/before"; done
play 0 first-check --check --diff
for host in $hosts; do expect_equal "$host after a check" "$(<"$lab/$host/before")" "$(state_of "$host")"; done
expect_contains "what the check shows" "ip -4 rule add priority 1941 from 172.16.34.2 to 172.16.0.0/16 lookup 942" "$(told first-check)"

# ---- it would cut the host off: ssh comes from a network that eth0 is told to reach by a gateway that does not exist
cut_off='{ib_hook_config: {interface eth0: {manage: yes, gateway: 10.9.0.99, remote: 172.16.0.0/16}, interface ib*: {manage: yes}}, ib_hook_confirm_seconds: 20}'
# Nor has the host a library that the program needs, as a minimal Debian without rdma-core; its repository has the package.
# shellcheck disable=SC2016 # for the inner shell
at networkd sh -c 'mkdir -p /srv/lib/DEBIAN && dpkg -s libnl-route-3-200 | grep -v ^Status: >/srv/lib/DEBIAN/control
    dpkg -L libnl-route-3-200 | while read -r file; do [ -d "$file" ] || cp -a --parents "$file" /srv/lib; done
    dpkg-deb --build /srv/lib /srv/packages/libnl-route.deb && dpkg --purge --force-depends libnl-route-3-200' >"$lab/purge.log" 2>&1
mkdir "$lab/packages"
at networkd cat /srv/packages/libnl-route.deb >"$lab/packages/libnl-route.deb"
(cd "$lab/packages" && dpkg-scanpackages . 2>/dev/null) | at networkd sh -c 'cat >>/srv/packages/Packages && apt-get -qq update'
FROM=172.16.16.1 play 2 first-cut-off -l networkd -e "$cut_off"
expect_contains "what is said" "networkd could not be reached, or did not confirm, within 20 s" "$(<"$lab/first-cut-off.log")"
expect_gone networkd

# ---- the first installation
play 0 first --diff
expect_check_was_right first-check first
for host in $hosts; do expect_rails "$host"; done
expect_equal "ib-hook-watch, wanted on one of them" "active inactive" \
    "$(on_all systemctl is-active ib-hook-watch)"

# ---- nothing to do
play 0 second
expect_equal "a second run changes" "" "$(<"$lab/second.changed")"

# ---- another configuration, on one of them
echo "ib_hook_host_config: {interface ib1: {arp: strict}}" >>"$lab/host_vars/nm"
play 0 change-check --check --diff
play 0 change --diff
expect_check_was_right change-check change
expect_contains "the difference that is shown" "+arp=strict" "$(told change)"
expect_equal "what changed" "changed: [nm] TASK [ib_hook : Configure]
changed: [nm] TASK [ib_hook : Routing]" "$(sed 's/^/changed: /' "$lab/change.changed" | grep -v HANDLER)"
expect_equal "arp_ignore of ib1" "2 1" "$(on_all cat /proc/sys/net/ipv4/conf/ib1/arp_ignore)"
expect_equal "ib-hook-watch goes on" "active" "$(at nm systemctl is-active ib-hook-watch)"

# ---- what is cut off comes back
for host in $hosts; do state_of "$host" >"$lab/$host/before"; done
playbook=$top/packaging/ansible/rollout.yml
FROM=172.16.16.1 play 2 cut-off -e "$cut_off"
expect_contains "what is said" "nm could not be reached, or did not confirm, within 20 s" "$(<"$lab/cut-off.log")"
expect_lacks "the next host is not tried" ": [networkd]" "$(<"$lab/cut-off.log")"
for host in $hosts; do expect_equal "$host is as it was" "$(<"$lab/$host/before")" "$(state_of "$host")"; done

# ---- what is found, and a configuration that is none
at nm ip rule add priority 100 from 172.16.34.2 lookup main
echo "ib_hook_host_config: {interface ib0: {arp: perhaps}}" >>"$lab/host_vars/networkd"
playbook=$lab/together.yml
play 2 finding
expect_contains "a finding" "ib1: error foreign-rule: " "$(<"$lab/finding.log")"
expect_contains "and its fix" "fix: sudo ip -4 rule del priority 100 from 172.16.34.2 lookup main" "$(<"$lab/finding.log")"
expect_contains "a bad configuration" "/etc/ib-hook/ib-hook.conf:7: arp=perhaps" "$(<"$lab/finding.log")"
expect_equal "networkd is as it was" "$(<"$lab/networkd/before")" "$(state_of networkd)"
