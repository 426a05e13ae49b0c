#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# BIRD, option -R behind an end by SIGTERM: the peer, which has withdrawn everything, gets it back only when BIRD's
# graceful recovery is over, several seconds later than from a start without -R.
#
# Version: BIRD 2.0.12 on both sides, `graceful restart on` at the one, `graceful restart aware` at the other.
# Behaviour: SIGTERM closes the sessions with a notification, so that there is nothing to recover; -R all the same holds
#   exports back until all sessions have had their end of RIB, or the wait is over.
# Why it matters: -R in BIRD_ARGS for good, as an answer to "BIRD is upgraded without a withdrawal", makes each orderly
#   restart and each boot slower. -R belongs behind `birdc graceful restart` and a crash only.
# Seen: gone for some 5 s without -R, for some 11 s with it; the time includes a second between end and start.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download -qq bird2=2.0.12-7 libssh-gcrypt-4 libgcrypt20 libgpg-error0 >/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu BIRD=$folder/root/usr/sbin/bird
cat >node.conf <<'END'
router id 10.9.1.2;
protocol device { }
protocol static { ipv4; route 203.0.113.10/32 blackhole; }
protocol bgp uplink {
	local as 64501; neighbor 10.9.1.1 as 64600; connect delay time 1; error wait time 1, 30; graceful restart on;
	ipv4 { import none; export all; next hop self; };
}
END
cat >router.conf <<'END'
router id 10.9.1.1;
protocol device { }
protocol kernel { ipv4 { export where source = RTS_BGP; import none; }; }
protocol bgp host {
	local as 64600; neighbor 10.9.1.2 as 64501; passive on; error wait time 1, 30; graceful restart aware;
	ipv4 { import all; export none; };
}
END
cat >inside <<'END'
set -euo pipefail
mount -t tmpfs run /run
ip link set lo up
ip netns add router
ip link add node type veth peer name router netns router
ip address add 10.9.1.2/30 dev node
ip link set node up
ip -n router address add 10.9.1.1/30 dev router
ip -n router link set router up
ip netns exec router "$BIRD" -f -c router.conf -s router.ctl -P router.pid 2>router.log &
there() { [[ -n $(ip -n router route show 203.0.113.10) ]]; }
ms() { echo $(($(date +%s%N) / 1000000)); }
until_it() { # is there, or is gone
    local limit=$((SECONDS + 60))
    until if [[ $1 == there ]]; then there; else ! there; fi; do
        [[ $SECONDS -lt $limit ]] || { echo "not $1 after a minute" >&2; cat ./*.log >&2; exit 1; }
        sleep 0.05
    done
}
gone_for() { # the milliseconds of a restart by SIGTERM, with these options
    "$BIRD" -f -c node.conf -s node.ctl -P node.pid 2>node.log &
    local node=$! begun
    until_it there
    sleep 2 # the session's end of RIB
    kill "$node"
    until_it gone
    begun=$(ms)
    wait "$node" || true
    sleep 1
    "$BIRD" -f -c node.conf -s node.ctl -P node.pid "$@" 2>node.log &
    node=$!
    until_it there
    echo $(($(ms) - begun))
    kill "$node"
    wait "$node" || true
    until_it gone
}
gone_for >plain
gone_for -R >recovering
kill %1
echo "gone for $(cat plain) ms, with -R for $(cat recovering) ms"
[[ $(cat recovering) -gt $(($(cat plain) + 3000)) ]] || { echo "this has changed"; exit 1; }
END
unshare --net --mount --pid --fork --kill-child bash inside
