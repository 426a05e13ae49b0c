#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# CNI's plugin bandwidth cannot limit what a pod sends where the node's end of its interface has a clsact qdisc: it fails,
# and leaves the limit of the other direction behind.
#
# Version: containernetworking-plugins 1.1.1 of Debian 12, on any kernel.
# Behaviour: the plugin adds a qdisc "ingress", whose handle ffff: clsact has: "create ingress qdisc: file exists".
#   The tbf for what the pod receives was set before that, and stays. A limit of what the pod receives alone is set.
# Why it matters: who attaches programs by clsact (all who do so before Linux 6.6, which has TCX) keeps pods with
#   kubernetes.io/egress-bandwidth from starting. With TCX there is no qdisc to meet.
# Seen: with clsact exit status 1 and a tbf that stays; without it exit status 0; one direction alone 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download -qq containernetworking-plugins=1.1.1+ds1-3+b5 >/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
plugin=$(find "$folder/root" -path '*cni*' -name bandwidth -type f)
export plugin
cat >inside <<'END'
set -euo pipefail
mount -t tmpfs run /run
both='"ingressRate":1000000,"ingressBurst":1000000,"egressRate":1000000,"egressBurst":1000000'
received='"ingressRate":1000000,"ingressBurst":1000000'
limited() { # NAME LIMITS: the plugin's exit status for a pod behind interface NAME
    local prior='"interfaces":[{"name":"'$1'"},{"name":"eth0","sandbox":"/run/netns/'$1'"}],"ips":[]'
    echo '{"cniVersion":"1.0.0","name":"net","type":"bandwidth","runtimeConfig":{"bandwidth":{'"$2"'}},
        "prevResult":{"cniVersion":"1.0.0",'"$prior"'}}' |
        CNI_COMMAND=ADD CNI_CONTAINERID="$1" CNI_NETNS="/run/netns/$1" CNI_IFNAME=eth0 CNI_PATH="${plugin%/*}" \
            "$plugin" >"$1.out" 2>&1 && echo 0 || echo $?
}
pod() {
    ip netns add "$1"
    ip link add "$1" type veth peer name eth0 netns "$1"
    ip link set "$1" up
}
ip link add other type veth peer name another # no interface has its peer's number
pod plain
pod beside
pod half
tc qdisc add dev beside clsact
tc qdisc add dev half clsact
plain=$(limited plain "$both")
beside=$(limited beside "$both")
half=$(limited half "$received")
left=$(tc qdisc show dev beside | grep -c '^qdisc tbf' || true)
echo "without clsact: $plain; beside it: $beside ($(grep -o '"msg".*' beside.out)), tbf left: $left; what it receives alone: $half"
[[ $plain == 0 && $beside != 0 && $left == 1 && $half == 0 ]] || { echo "this has changed"; exit 1; }
END
unshare --net --mount --pid --fork --kill-child --mount-proc bash inside
