#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Linux, veth: the notification of the first end has no peer, and none follows that has it.
#
# Version: Linux 6.18 (seen), iproute2 6.1.0.
# Behaviour: veth_newlink() registers the peer, which is announced (RTM_NEWLINK), before either end knows the other.
#   The second end is announced with IFLA_LINK; the first one not again until something else of it changes, such as
#   that it is set up. A dump has the peer of both all the while.
# Why it matters: who mirrors links by notifications takes the first end for one whose peer is in no namespace, or
#   not for a pod's, and has to ask for it again when the second one comes.
# Seen: "b0@NONE" and "a0@b0" in `ip monitor link`, "b0@a0" in `ip link show`.
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
ip link add a0 type veth peer name b0
ip link show b0 | grep -q "b0@a0" || { echo "the dump has no peer"; exit 1; }
ip link add marker type bridge
until_heard " marker:"
grep -o " [ab]0@[A-Za-z0-9]*" heard
grep -q " b0@NONE" heard || { echo "the first end is announced otherwise"; exit 1; }
! grep " b0@a0" heard || { echo "the peer of the first end is told"; exit 1; }
ip link set b0 up
until_heard " b0@a0"
END
