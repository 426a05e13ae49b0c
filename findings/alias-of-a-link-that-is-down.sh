#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Linux: the alias of a link that is down changes without a notification.
#
# Version: Linux 6.18 (seen), iproute2 6.1.0.
# Behaviour: for IFLA_IFALIAS do_setlink() leaves the announcement to netdev_state_change(), which says nothing of an
#   interface that is not up. The MTU of the same link is announced, since its change has a notifier of its own.
# Why it matters: who marks its interfaces by their alias, before they are set up, does not hear of its own mark; and
#   a mirror by notifications keeps the old alias until the link changes otherwise.
# Seen: "down: 0 notifications of an alias, 1 of the MTU; up: 1 of an alias".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download -qq iproute2=6.1.0-3 >/dev/null
dpkg-deb -x iproute2_*.deb root
export PATH=$folder/root/sbin:$folder/root/bin:$PATH

unshare --net bash -euo pipefail <<'END'
until_heard() {
    begun=$SECONDS
    until grep -q "$1" heard; do
        [ $((SECONDS - begun)) -le 10 ] || { echo "nothing is heard of $1"; exit 1; }
        read -rt 0.1 <> <(:) || true
    done
}
ip monitor link >heard &
monitor=$!
trap 'kill $monitor' EXIT
begun=$SECONDS
until [ -s heard ] || [ $((SECONDS - begun)) -gt 10 ]; do ip link set lo up; ip link set lo down; done
ip link add br0 type bridge
lines() {  # of br0, as of now
    ip link add "$1" type bridge
    until_heard " $1:"
    grep -c " br0:" heard
}
one=$(lines m1)
ip link set br0 alias mine
ip link show br0 | grep -q "alias mine" || { echo "it has no alias"; exit 1; }
down=$(($(lines m2) - one))
ip link set br0 mtu 1400
mtu=$(($(lines m3) - one - down))
ip link set br0 up
two=$(lines m4)
ip link set br0 alias yours
up=$(($(lines m5) - two))
echo "down: $down notifications of an alias, $mtu of the MTU; up: $up of an alias"
[ "$down $mtu $up" = "0 1 1" ]
END
