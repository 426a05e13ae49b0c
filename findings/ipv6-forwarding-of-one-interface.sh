#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Linux: net.ipv4.conf.IFACE.forwarding=0 stops packets that come in there; the setting of the same name in IPv6 stops
# none, as long as all.forwarding is 1.
#
# Version: Linux 6.18 (seen), iproute2 6.1.0, iputils-ping 20221126.
# Behaviour: ip_route_input() asks the interface, and drops what came by one that does not forward. ip6_forward() asks
#   only `all`; the setting of an interface says whether it takes router advertisements and is a router to neighbours.
# Why it matters: who closes one interface of a router by this setting has closed it for IPv4 alone. Programs that ask
#   bpf_fib_lookup() get BPF_FIB_LKUP_RET_FWD_DISABLED in both families, and so do not do what the stack does.
# Seen: 0 answers by IPv4, 1 by IPv6.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download -qq iproute2=6.1.0-3 iputils-ping=3:20221126-1+deb12u1 >/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
export PATH=$folder/root/sbin:$folder/root/bin:$PATH

unshare --net --mount bash -euo pipefail <<'END'
mount -t tmpfs none /run
set_to() { echo "$2" >"/proc/sys/net/$1"; }
ip netns add left
ip netns add right
for side in left right; do
    ip link add $side type veth peer name e0 netns $side
    ip link set $side up
    ip -n $side link set e0 up
done
address() {  # of both ends, and the way to the other side
    ip address add "$2.1/24" dev "$1"
    ip address add "$3::1/64" dev "$1" nodad
    ip -n "$1" address add "$2.2/24" dev e0
    ip -n "$1" address add "$3::2/64" dev e0 nodad
    ip -n "$1" route add default via "$2.1"
    ip -n "$1" route add default via "$3::1"
}
address left 10.9.1 fd00:9:1
address right 10.9.2 fd00:9:2
set_to ipv4/ip_forward 1
set_to ipv6/conf/all/forwarding 1
answers() { ip netns exec left ping -c 1 -W 1 "$1" | grep -c "bytes from" || true; }
for attempt in 1 2 3 4 5 6 7 8 9 10; do  # until link-local addresses are no longer tentative
    both="$(answers 10.9.2.2) $(answers fd00:9:2::2)"
    [ "$both" != "1 1" ] || break
done
[ "$both" = "1 1" ] || { echo "nothing is forwarded after $attempt attempts"; exit 1; }
set_to ipv4/conf/left/forwarding 0
set_to ipv6/conf/left/forwarding 0
four=$(answers 10.9.2.2) six=$(answers fd00:9:2::2)
echo "$four answers by IPv4, $six by IPv6"
[ "$four" = 0 ] || { echo "IPv4 forwards"; exit 1; }
[ "$six" = 1 ] || { echo "IPv6 does not forward"; exit 1; }
END
