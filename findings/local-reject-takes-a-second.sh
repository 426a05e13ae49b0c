#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nftables, `reject` of a connection that the same machine opens: connect() is refused after a second, not at once.
#
# Version: nftables 1.0.6, Linux 6.18 (seen); with the default `reject`, an ICMP error, at the output hook.
# Behaviour: the error is delivered while connect() still holds the socket, so that TCP only notes it, and ends the
#   connection when the SYN is sent again, one second later. `reject with tcp reset` refuses at once. So it is in
#   both families.
# Why it matters: a proxy that rejects Services without endpoints by ICMP makes each connect() of the node's own
#   programs wait for a second; of pods and hosts outside it does not.
# Seen: reject: ECONNREFUSED after 1.0 s; with tcp reset: after 0.0 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download -qq nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2 >/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu NFT=$folder/root/usr/sbin/nft

cat >connect.py <<'END'
import errno, socket, sys, time
how, slow = sys.argv[1], sys.argv[2] == "slow"
for address in ("198.51.100.1", "fd00:1::1"):
    peer = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    begun = time.monotonic()
    code = peer.connect_ex((address, 81))
    took = time.monotonic() - begun
    print(f"{how}: {address} {errno.errorcode[code]} after {took:.1f} s")
    assert code == errno.ECONNREFUSED and (0.9 < took < 3 if slow else took < 0.5), "this has changed"
END
unshare --net bash -euo pipefail <<'END'
ip link set lo up
ip address add 198.51.100.1/32 dev lo
ip address add fd00:1::1/128 dev lo
refuse() {
    "$NFT" -f - <<RULES
flush ruleset
table inet t { chain output { type filter hook output priority 0; tcp dport 81 $1; }; }
RULES
    /usr/bin/python3 connect.py "$1" "$2"
}
refuse "reject" slow
refuse "reject with tcp reset" quick
END
