# SPDX-License-Identifier: Apache-2.0
"""The programs of egress on packets that chance has changed: bytes, lengths, one put into another.
Whatever comes, nothing leaves a gateway but with its own address, nothing leaves a pod for outside
but in the tunnel, and nothing is changed that goes on to the stack but what came out of a tunnel."""

import ipaddress
import random

from abi import TCP, UDP
from bpf import NEXT, REDIRECT, SHOT
from cases import draws
from egress import GATEWAY, OUTER, fou
from packets import ETHER, ether, network
from scapy.layers.inet import ICMP
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6PacketTooBig
from test_egress_answers import reply as answer
from test_egress_client import CLUSTER, OUTSIDE, go_out, packet, ping
from test_egress_gateway import POD, ROUTER, SERVER, inside, leaves, reply, tunnel
from world import MACS, NODE, POD1

RUNS = 4000
ETHER_TYPES = {4: b"\x08\x00", 6: b"\x86\xdd"}


def ends(frame, family):
    """(source, destination) of a frame."""
    at, size = (ETHER + 12, 4) if family == 4 else (ETHER + 8, 16)
    return tuple(str(ipaddress.ip_address(frame[at + n * size:at + (n + 1) * size])) for n in (0, 1))


def is_ip(frame, family):
    if len(frame) < ETHER + (20 if family == 4 else 40) or frame[12:14] != ETHER_TYPES[family]:
        return False
    return frame[ETHER] >> 4 == family and (family == 6 or frame[ETHER] & 15 >= 5)


def is_plain(frame, family):
    """Whether UDP follows the IP header at once."""
    return frame[ETHER] == 0x45 if family == 4 else frame[ETHER + 6] == 17


def changed(chance, frame, others, least):
    """The frame with a few bytes behind its Ethernet header set, cut off, put in or repeated."""
    data = bytearray(frame)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(ETHER, len(data))
        kind = chance.randrange(6)
        if kind < 3:  # headers are where it matters
            at = min(at, ETHER + chance.randrange(100))
            data[at % len(data) if at % len(data) >= ETHER else ETHER] = chance.choice(
                (0, 1, 0xFF, 0x45, 0x60, 17, 58, chance.randrange(256)))
        elif kind == 3:
            del data[max(at, least):]  # the kernel runs nothing shorter
        elif kind == 4:
            data[at:at] = chance.randbytes(chance.choice((1, 4, 8, 40, 600)))
        else:
            data[at:] = chance.choice(others)[ETHER:]
    return bytes(data[:3000]).ljust(least, b"\0")


def inputs(family, frames):
    """What was made of these frames; first the frames themselves."""
    chance = random.Random(family)
    frames = [bytes(frame) for frame in frames]
    yield from frames
    for _ in range(draws(RUNS)):
        yield changed(chance, chance.choice(frames), frames, ETHER + (20 if family == 4 else 40))


def runs(programs, hook, device, family, frames):
    """(given, verdict, what became of it) for each; the verdicts that came must be all that there are."""
    seen = set()
    index = programs.world.index[device]
    for given in inputs(family, frames):
        ran = programs.hooks[hook].run(given, ifindex=index, ingress_ifindex=index)
        seen.add(ran.verdict)
        yield given, ran.verdict, bytes(ran.packet)
    wanted = {NEXT} if hook == "client_out" else {NEXT, REDIRECT}
    assert wanted <= seen <= {NEXT, REDIRECT, SHOT}


def gateway_frames(gateway, family):
    left = leaves(gateway, family, inside(family))
    unreachable = ICMP(type=3, code=3) if family == 4 else ICMPv6DestUnreach(code=4)
    big = ICMP(type=3, code=4, nexthopmtu=1300) if family == 4 else ICMPv6PacketTooBig(mtu=1300)
    request = bytes(ping(family, POD[family], SERVER[family]))[ETHER:]
    echo = bytes(ping(family, SERVER[family], NODE[family], reply=True))
    sent = bytes(tunnel(family, inside(family)))
    yield from (
        sent, tunnel(family, inside(family, TCP, flags="S")), tunnel(family, inside(family, TCP)),
        tunnel(family, inside(family, payload=b"x" * 1200)), tunnel(family, request),
        tunnel(family, tunnel(family, inside(family)).payload),
        tunnel(family, bytes(network(POD[family], SERVER[family]) / unreachable / bytes(left)[:80])),
        ether() / reply(family, left, UDP), ether() / reply(family, left, UDP, payload=b"x" * 1450), echo,
        ether() / network(ROUTER[family], NODE[family]) / unreachable / bytes(left),
        ether() / network(ROUTER[family], NODE[family]) / big / sent[ETHER:],
    )


def test_gateway(gateway, family):
    gateway.client(POD[family])
    own, pod = NODE[family], POD[family]
    for given, verdict, became in runs(gateway, "gateway_in", "eth0", family,
                                       gateway_frames(gateway, family)):
        if verdict == NEXT:
            assert became == given, given.hex()
        elif verdict == REDIRECT:
            src, dst = ends(became, family)
            assert src == own, given.hex()  # to a client, to who is answered, or of a client
            assert dst == pod or ends(given, family)[0] in (dst, pod), given.hex()
            if dst not in (pod, ends(given, family)[0]) and is_plain(given, family):
                assert ends(given[OUTER[family]:], family)[0] == pod, given.hex()
        else:
            assert verdict == SHOT


def pod_frames(family):
    return (
        packet(family), packet(family, TCP, flags="S"), packet(family, TCP), ping(family, POD1[family], OUTSIDE[family]),
        packet(family, payload=b"x" * 1400), packet(family, payload=b"x" * 1450),
        packet(family, dst=GATEWAY[family]), packet(family, dst="10.1.2.3" if family == 4 else "fd00::1"),
    )


def test_client_in(client, family):
    go_out(client, family)
    pod, over = POD1[family], OUTER[family]
    stays = ipaddress.ip_network(CLUSTER[family])
    for given, verdict, became in runs(client, "client_in", "pod1", family, pod_frames(family)):
        if verdict == NEXT:
            assert became == given
            if is_ip(given, family) and ends(given, family)[0] == pod:
                assert ipaddress.ip_address(ends(given, family)[1]) in stays, given.hex()
        elif verdict == REDIRECT:
            src, dst = ends(became, family)
            if (src, dst) == (pod, GATEWAY[family]):
                assert ends(became[over:], family) == ends(given, family), given.hex()
                size = len(given) + over  # or cut, and this is the first half
                assert len(became) == size or family == 4 and len(became) < size, given.hex()
            else:
                assert dst == pod, given.hex()


def test_client_out(client, family):
    go_out(client, family)
    for sent in pod_frames(family):
        client.send("client_in", sent)
    macs = ether().__class__(src=MACS["pod1"], dst=MACS["pod1p"])
    pod, gate = POD1[family], GATEWAY[family]
    error = ICMP(type=3, code=4, nexthopmtu=1300) if family == 4 else ICMPv6PacketTooBig(mtu=1300)
    inner = (answer(family), answer(family, TCP, flags="SA"),
             bytes(ping(family, OUTSIDE[family], pod, reply=True))[ETHER:])
    frames = [fou(gate, pod, item, frame=macs) for item in inner]
    frames += [macs / network(OUTSIDE[family], pod) / error / bytes(frames[0])[ETHER:],
               macs / network(gate, pod) / error /
               bytes(fou(pod, gate, bytes(packet(family))[ETHER:]))[ETHER:]]
    for given, verdict, became in runs(client, "client_out", "pod1", family, frames):
        if verdict == NEXT and became != given:
            assert ends(became, family)[1] == pod and len(became) <= len(given), given.hex()
