#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# CNI's plugin portmap refuses what it has made itself: where iptables and ip6tables are both there, its CHECK fails for
# each pod with a host port, of one family or of two.
#
# Version: containernetworking-plugins 1.1.1 of Debian 12 with iptables 1.8.9, on any kernel.
# Behaviour: ADD forwards the port in the families that the pod has, and ends with 0. CHECK of the very same looks for
#   chains in both families, and of a pod with both for IPv4's rules in IPv6's table. Without ip6tables it passes.
# Why it matters: a runtime that calls CHECK (CRI-O does) takes pods with a hostPort for broken that work; since CHECK is one
#   call for a whole list, a plugin beside it is suspected.
# Seen: IPv4 alone 1, IPv6 alone 1, both 1; IPv4 alone without ip6tables 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download -qq containernetworking-plugins=1.1.1+ds1-3+b5 >/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
plugin=$(find "$folder/root" -path '*cni*' -name portmap -type f)
export plugin
cat >inside <<'END'
set -euo pipefail
mount -t tmpfs run /run
four='{"address":"10.1.0.2/24"}'
six='{"address":"2001:db8::2/64"}'
ask() { # VERB NAME ADDRESSES PORT: the plugin's exit status
    echo '{"cniVersion":"1.0.0","name":"net","type":"portmap","runtimeConfig":{"portMappings":[{"hostPort":'"$4"',
        "containerPort":80,"protocol":"tcp"}]},"prevResult":{"cniVersion":"1.0.0","interfaces":[{"name":"eth0",
        "sandbox":"/run/netns/'"$2"'"}],"ips":['"$3"']}}' |
        CNI_COMMAND=$1 CNI_CONTAINERID="$2" CNI_NETNS="/run/netns/$2" CNI_IFNAME=eth0 CNI_PATH="${plugin%/*}" \
            "$plugin" >"$2.out" 2>&1 && echo 0 || echo $?
}
checked() { # NAME ADDRESSES PORT: of a pod that was just added
    ip netns add "$1"
    added=$(ask ADD "$1" "$2" "$3")
    [[ $added == 0 ]] || { cat "$1.out" >&2; exit 1; }
    ask CHECK "$1" "$2" "$3"
}
ip link set lo up
v4=$(checked v4 "$four" 8001)
v6=$(checked v6 "$six" 8002)
both=$(checked both "$four,$six" 8003)
mkdir /run/tools
for tool in bash cat sed iptables ip; do ln -s "$(command -v $tool)" /run/tools/; done
alone=$(PATH=/run/tools checked alone "$four" 8004)
echo "CHECK with IPv4 alone: $v4; IPv6 alone: $v6; both: $both; IPv4 without ip6tables: $alone"
grep -h '"msg"' v4.out v6.out both.out
[[ $v4 == 1 && $v6 == 1 && $both == 1 && $alone == 0 ]] || { echo "this has changed"; exit 1; }
END
unshare --net --mount --pid --fork --kill-child --mount-proc bash inside
