#!/bin/bash
# Table numbers follow the names of the NICs that are present. When one of lower rank appears or goes, rails move
# to other tables without losing a packet.
. "$(dirname "$0")/lib.sh"

make_hosts 2
serve B
rails_by_hand A 2
rdma B ib ib0 ib1 # `ib` sorts first and is not there yet
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
forget A B

traffic_start
add_nic B ib 7 172.16.34.8/16
expect_hook 0 B --apply
expect_rails B ib:941:172.16.34.8 ib0:942:172.16.34.1 ib1:943:172.16.34.2
traffic_stop
expect_no_loss "a NIC of lower rank appears"
expect_settled_right "a NIC of lower rank appears"
expect_hook 0 B --check

traffic_start
remove_nic B ib
expect_hook 0 B --apply
expect_rails B ib0:941:172.16.34.1 ib1:942:172.16.34.2
traffic_stop
expect_no_loss "it goes again"
expect_settled_right "it goes again"

# A rename is a move too.
ip -n B link set ib0 down
ip -n B link set ib0 name ib9
ip -n B link set ib9 up
wait_until 5 settled B
rdma B ib1 ib9
expect_hook 0 B --apply
expect_rails B ib1:941:172.16.34.2 ib9:942:172.16.34.1
