# SPDX-License-Identifier: Apache-2.0
"""abi.py and egress.py say what abi.h, flow_abi.h and egress_abi.h of agent/bpf say: places of fields, sums,
hashes."""

import ctypes
import random
import re
import subprocess

import abi
import egress
import pytest
from lab.agent import REPOSITORY

STRUCTS = {**abi.STRUCTS, **egress.STRUCTS}
# Of each line of input, an address as four words, a port and a number, all checks and hashes.
PROGRAM = r"""
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include "bpf/egress_abi.h"
int main(void)
{
%s
    unsigned a, b, c, d, port, rest;
    while (scanf("%%x %%x %%x %%x %%u %%u", &a, &b, &c, &d, &port, &rest) == 6) {
        struct nat_addr addr = { .words = { htonl(a), htonl(b), htonl(c), htonl(d) } };
        struct nat_tuple tuple = { .src = addr, .dst = addr, .sport = htons(port),
                                   .dport = htons(rest & 0xffff), .protocol = rest & 0xff };
        struct nat_frontend_key key = { .addr = addr, .port = htons(port),
                                        .protocol = rest & 0xff };
        unsigned long long hash = nat_filter_hash(&addr, htons(port));
        printf("check %%u %%u %%u %%u %%llu\n", nat_check(&addr, rest), nat_tuple_check(&tuple),
               nat_frontend_check(&key), nat_filter_word(hash, 4096),
               (unsigned long long)nat_filter_bits(hash));
    }
}
"""


@pytest.fixture(scope="module", name="program")
def program_fixture(tmp_path_factory):
    lines = []
    for struct, value in STRUCTS.items():
        lines.append(f'printf("{struct} %zu\\n", sizeof(struct {struct}));')
        for name, *_ in value._fields_:
            place = f"offsetof(struct {struct}, {name}), sizeof(((struct {struct} *)0)->{name})"
            lines.append(f'printf("{struct}.{name} %zu %zu\\n", {place});')
    folder = tmp_path_factory.mktemp("abi")
    command = ["gcc", "-x", "c", "-D_GNU_SOURCE", f"-I{REPOSITORY / 'agent'}", "-o", folder / "abi"]
    subprocess.run([*command, "-"], input=PROGRAM % "\n".join(lines), text=True, check=True)
    return folder / "abi"


def test_structs(program):
    said = subprocess.run([program], input="", capture_output=True, text=True, check=True).stdout
    expected = []
    for struct, value in STRUCTS.items():
        expected.append(f"{struct} {ctypes.sizeof(value)}")
        for name, *_ in value._fields_:
            field = getattr(value, name)
            expected.append(f"{struct}.{name} {field.offset} {field.size}")
    assert said.splitlines() == expected


def test_checks_and_hashes(program):
    draw = random.Random(1)
    given, expected = [], []
    for _ in range(200):
        words = [draw.choice((0, 0xFFFF, draw.getrandbits(32))) for _ in range(4)]
        port, rest = draw.getrandbits(16), draw.getrandbits(16)
        given.append(" ".join(f"{word:x}" for word in words) + f" {port} {rest}")
        data = b"".join(word.to_bytes(4, "big") for word in words)
        addr = abi.Address.from_buffer_copy(data)
        flow = abi.Tuple(addr, addr, port, rest, rest & 0xFF)
        key = abi.FrontendKey(addr, port, rest & 0xFF)
        word, bits = abi.filter_place(addr, port, 4096)
        expected.append(
            f"check {abi.check(addr, rest)} {abi.tuple_check(flow)} {key.check()} {word} {bits}"
        )
    said = subprocess.run(
        [program], input="\n".join(given), capture_output=True, text=True, check=True
    ).stdout
    assert [line for line in said.splitlines() if line.startswith("check")] == expected


def test_every_map_is_in_the_list():
    """NAT_MAPS in abi.h names the maps of maps.h, in their order."""
    folder = REPOSITORY / "agent/bpf"
    made = re.findall(r"^} (\w+) SEC\(\".maps\"\);", (folder / "service/maps.h").read_text(), re.MULTILINE)
    listed = re.findall(r"^    MAP\((\w+), (\w+)\)", (folder / "abi.h").read_text(), re.MULTILINE)
    assert made and listed == [(name.upper(), name) for name in made]
