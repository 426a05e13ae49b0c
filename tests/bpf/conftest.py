# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the packet tests: a node without agents, and the programs loaded into it."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from abi import TCP, UDP, Address, Control, Tuple, Value, u32, u64  # noqa: E402
from bpf import Map, Program  # noqa: E402
from cases import FEW, keep_few  # noqa: E402
from egress import Client, Gateway  # noqa: E402
from lab.agent import build_folder  # noqa: E402
from maps import Nat  # noqa: E402
from world import World  # noqa: E402


@pytest.fixture(scope="session", name="world")
def world_fixture(tmp_path_factory):
    """One for each process that runs tests."""
    world = World(tmp_path_factory.mktemp("bpffs"))
    yield world
    world.close()


def pytest_collection_modifyitems(config, items):
    if FEW:
        keep_few(config, items)


def load(world, name, path):
    folder = world.folder / name
    folder.mkdir()
    for part in ("maps", "live", "twin"):
        (folder / part).mkdir()
    build = build_folder()
    done = subprocess.run(
        [build / "tests" / "bpf" / "load", build / path, folder],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    return folder


@pytest.fixture(scope="session", name="load_object")
def load_object_fixture(world):
    """Loads an object under a name: the folder of its pins."""
    return lambda name, path: load(world, name, path)


@pytest.fixture(scope="session", name="icmp_folder")
def icmp_folder_fixture(world):
    return load(world, "icmp", "tests/bpf/icmp.bpf.o")


@pytest.fixture(scope="session", name="nat_folder")
def nat_folder_fixture(world):
    return load(world, "nat", "agent/bpf/nat.bpf.o")


@pytest.fixture(scope="session", name="client_programs")
def client_programs_fixture(world):
    folder = load(world, "egress-client", "agent/bpf/egress_client.bpf.o")
    return Client(folder, world)


@pytest.fixture(name="client")
def client_fixture(client_programs):
    """The client's side of egress with empty maps."""
    client_programs.reset()
    return client_programs


@pytest.fixture(scope="session", name="gateway_programs")
def gateway_programs_fixture(world):
    return Gateway(load(world, "egress-gateway", "agent/bpf/egress_gateway.bpf.o"), world)


@pytest.fixture(name="gateway")
def gateway_fixture(gateway_programs):
    """A gateway with empty maps."""
    gateway_programs.reset()
    return gateway_programs


class Arguments(Value):
    """struct arguments of icmp.bpf.c"""

    _fields_ = [("source", Tuple), ("to", Tuple), ("src", Address), ("dst", Address)]


class Icmp:
    """The programs of icmp.bpf.c."""

    Arguments = Arguments

    def __init__(self, folder, world):
        self.index = world.index
        self.arguments = Map(folder / "maps" / "arguments", u32, Arguments)
        self.control = Map(folder / "maps" / "control", u32, Control)
        self.limits = Map(folder / "maps" / "limits", Address, u64)
        for name in ("answer", "bounce", "limit", "parse", "translate"):
            setattr(self, name, Program(folder / "live" / name))


@pytest.fixture(scope="session", name="icmp_programs")
def icmp_programs_fixture(icmp_folder, world):
    return Icmp(icmp_folder, world)


@pytest.fixture(name="icmp")
def icmp_fixture(icmp_programs):
    icmp_programs.limits.clear()
    return icmp_programs


@pytest.fixture(scope="session", name="nat_programs")
def nat_programs_fixture(nat_folder, world):
    return Nat(nat_folder, world)


@pytest.fixture(name="nat")
def nat_fixture(nat_programs):
    """The NAT program with empty maps."""
    nat_programs.reset()
    return nat_programs


@pytest.fixture(name="family", params=(4, 6), ids=("v4", "v6"))
def family_fixture(request):
    return request.param


@pytest.fixture(name="protocol", params=(TCP, UDP), ids=("tcp", "udp"))
def protocol_fixture(request):
    return request.param
