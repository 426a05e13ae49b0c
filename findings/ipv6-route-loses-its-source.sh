#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Linux, a route with `src`: when its address goes, IPv4 deletes the route and says so; IPv6 keeps the route, takes
# the source off, and tells nobody.
#
# Version: Linux 6.18 (seen), iproute2 6.1.0.
# Behaviour: fib6_remove_prefsrc() clears the preferred source of each route that had the address. There is no
#   notification of the route (RTM_NEWROUTE), only of the address, and the source stays away when the address is back.
# Why it matters: who mirrors routes by notifications has a source in its copy that the kernel has not any more;
#   packets then leave with another address of the node.
# Seen: "fd00:8::/64 via fd00:9::2 dev d0 metric 1024" without src, and no line of it in `ip monitor route`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download -qq iproute2=6.1.0-3 >/dev/null
dpkg-deb -x iproute2_*.deb root
export PATH=$folder/root/sbin:$folder/root/bin:$PATH

unshare --net bash -euo pipefail <<'END'
ip link add d0 type veth peer name d1
ip link set d0 up
ip link set d1 up
ip address add 10.9.0.1/24 dev d0
ip address add fd00:9::1/64 dev d0 nodad
ip route add 10.8.0.0/24 via 10.9.0.2 src 10.9.0.1
ip route add fd00:8::/64 via fd00:9::2 src fd00:9::1
ip -6 route show fd00:8::/64 | grep -q "src fd00:9::1"

heard() {  # until a route that is made afterwards has been heard of
    ip route add "$1" dev d0
    until grep -q "$1" heard; do read -rt 0.1 <> <(:) || true; done
}
ip monitor route >heard &
monitor=$!
trap 'kill $monitor' EXIT
begun=$SECONDS
until [ -s heard ] || [ $((SECONDS - begun)) -gt 10 ]; do ip route replace 10.7.0.0/24 dev d0; done
ip address delete 10.9.0.1/24 dev d0
ip address delete fd00:9::1/64 dev d0
heard 10.6.0.0/24
grep "Deleted 10.8.0.0/24" heard || { echo "IPv4 has changed"; exit 1; }
ip -6 route show fd00:8::/64
! ip -6 route show fd00:8::/64 | grep src || { echo "IPv6 keeps the source"; exit 1; }
! grep "fd00:8::/64" heard || { echo "IPv6 tells"; exit 1; }
ip address add fd00:9::1/64 dev d0 nodad
! ip -6 route show fd00:8::/64 | grep src || { echo "the source came back"; exit 1; }
END
