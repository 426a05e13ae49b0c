# SPDX-License-Identifier: Apache-2.0
"""Whoever builds the agent compiles the programs with the clang that they have: what the oldest and
the newest of Debian 12 and 13 make of them is loaded, and does the same."""

import re
import shlex
import shutil
import subprocess

import abi
import pytest
from abi import Address
from bpf import REDIRECT
from egress import GATEWAY, Client, Gateway, unwrap
from lab.agent import build_folder
from maps import Nat
from packets import ether, judge
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from test_egress_client import OUTSIDE, go_out, packet
from test_flows import answered, web
from test_verdicts import POD1
from test_verifier import LIMIT, SHARE
from world import NODE

OLDEST, NEWEST = "clang-13", "clang-19"


def compiled(compiler, program):
    """The object, by the build's own command but for the compiler; kept while it is up to date."""
    build = build_folder()
    name = f"agent/bpf/{program}.bpf.o"
    made, by_build = build / name, build / "bpf-compilers" / f"{program}.{compiler}.o"
    if by_build.exists() and by_build.stat().st_mtime > made.stat().st_mtime:
        return by_build
    by_build.parent.mkdir(exist_ok=True)
    said = subprocess.run(["ninja", "-C", str(build), "-t", "commands", name],
                          capture_output=True, text=True, check=True).stdout
    words = shlex.split(said.strip().splitlines()[-1])
    assert re.search(r"/clang(-\d+)?$", words[0]) and words.count(name) == 1, words
    draft = by_build.with_suffix(".draft")
    command = [compiler, *(str(draft) if word == name else word for word in words[1:])]
    command[command.index("-MF") + 1] = str(by_build.with_suffix(".d"))
    done = subprocess.run(command, cwd=build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    draft.rename(by_build)
    return by_build


@pytest.fixture(name="compiler", scope="module", params=[OLDEST, NEWEST])
def compiler_fixture(request):
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param}")
    return request.param


@pytest.fixture(name="other", scope="module")
def other_fixture(compiler, world, load_object):
    """The NAT program as another compiler makes it."""
    return Nat(load_object(compiler, compiled(compiler, "nat")), world)


@pytest.fixture(name="egress", scope="module")
def egress_fixture(compiler, world, load_object):
    """Both sides of egress as another compiler makes them."""
    return [
        kind(load_object(f"{program}-{compiler}", compiled(compiler, program)), world)
        for kind, program in ((Client, "egress_client"), (Gateway, "egress_gateway"))
    ]


def test_the_kernel_takes_it(other):
    for hook in abi.HOOKS:
        assert 1000 < other.live[hook].verified() < LIMIT / SHARE, hook


def test_it_does_the_same(other, family, protocol):
    """A flow there and back."""
    other.reset()
    web(other, family, protocol, POD1)
    answered(other, "outside", family, protocol)
    assert other.halves() == 2


def test_egress(egress, family, protocol):
    """A pod's packet through the client's program and the gateway's."""
    client, gateway = egress
    client.reset()
    gateway.reset()
    for side in egress:
        for name, program in side.hooks.items():
            assert 1000 < program.verified() < LIMIT / SHARE, name
    go_out(client, family)
    gateway.client(POD1[family])
    gateway.control.own[family == 6] = Address.of(GATEWAY[family])
    gateway.write()
    tunnel = client.send("client_in", packet(family, protocol))
    left = gateway.send(ether() / unwrap(tunnel.packet)[0])
    assert left.verdict == REDIRECT and not judge(left.packet)
    head = left.packet[IP] if family == 4 else left.packet[IPv6]
    assert (head.src, head.dst) == (NODE[family], OUTSIDE[family])
