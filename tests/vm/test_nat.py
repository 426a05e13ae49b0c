# SPDX-License-Identifier: Apache-2.0
"""Service NAT on the kernels that Debian has: packets of tests/bpf, and real sockets through
every hook (guest_nat.py), by devices of many kinds (guest_matrix.py), and with the protocols and hooks of
stock kernels, IPsec too (guest_stack.py), inside qemu guests. FINGERPOST_VM_KERNELS says which; see test_vm.py."""

import os

import pytest
from guests import BUILD, HERE, KERNELS, prepare, pytest_in, release
from lab.agent import REPOSITORY, build_folder
from lab.traffic import tool
from matrix import GUEST

pytestmark = pytest.mark.timeout(2400)
LIMIT = "1800"  # each takes minutes

# Of tests/bpf: of each test one case, of IPv4 and of IPv6 in turn, or "all", as the soak has it. How the program judges a
# packet is the same byte code everywhere; what a helper, a map or the verifier makes of it is not.
CASES = os.environ.get("FINGERPOST_BPF_CASES", "few")
LEAST = {"few": 400, "all": 1500}
PACKETS_LIMIT = {"few": LIMIT, "all": "7200"}


@pytest.fixture(name="kernel", scope="module", params=KERNELS)
def kernel_fixture(request):
    return prepare(request.param)


def failures(results):
    return {case: text for case, text in results.items() if text is not None}


def show(failed):
    return "\n".join(f"{case}:\n{text}" for case, text in sorted(failed.items()))[:20000]


@pytest.mark.guest_packets
@pytest.mark.timeout(600 + int(PACKETS_LIMIT[CASES]))
def test_packets(kernel, tmp_path):
    """The packets of tests/bpf. The programs and their loader are those of the build under test. By
    one process: for each the kernel verifies them anew, which takes a minute here."""
    words = [str(REPOSITORY / "tests" / "bpf"), "-p", "no:xdist"]
    results = pytest_in(kernel, tmp_path, words, ["-t", PACKETS_LIMIT[CASES], "-m", "2048"],
                        FINGERPOST_BUILD=str(build_folder()), FINGERPOST_BPF_CASES=CASES)
    failed = failures(results)
    assert len(results) > LEAST[CASES] and not failed, show(failed)


@pytest.mark.guest_sockets
def test_sockets(kernel, tmp_path, monkeypatch):
    monkeypatch.setenv("FINGERPOST_BUILD", str(release()))
    for name in ("echo", "load"):
        tool(name)  # where there is a compiler that takes no minutes
    results = pytest_in(kernel, tmp_path, [str(HERE / "guest_nat.py"), "--noconftest"],
                        ["-t", LIMIT, "-m", "2048"], FINGERPOST_BUILD=str(BUILD))
    failed = failures(results)
    assert len(results) > 60 and not failed, show(failed)


@pytest.mark.guest_matrix
def test_matrix(kernel, tmp_path, monkeypatch):
    """Each row is here or in tests/netns/test_nat_matrix.py, so none is passed over."""
    monkeypatch.setenv("FINGERPOST_BUILD", str(release()))
    tool("echo")
    results = pytest_in(kernel, tmp_path, [str(HERE / "guest_matrix.py"), "--noconftest"],
                        ["-t", LIMIT, "-m", "2048"], FINGERPOST_BUILD=str(BUILD))
    failed = failures(results)
    assert len(results) == len(GUEST) and not failed, show(failed)


@pytest.mark.guest_matrix
def test_underlays(kernel, tmp_path, monkeypatch):
    """Egress by devices without Ethernet header, of a client's node and of a gateway."""
    monkeypatch.setenv("FINGERPOST_BUILD", str(release()))
    tool("echo")
    results = pytest_in(kernel, tmp_path, [str(HERE / "guest_underlay.py"), "--noconftest"],
                        ["-t", LIMIT, "-m", "2048"], FINGERPOST_BUILD=str(BUILD))
    failed = failures(results)
    assert len(results) == 2 * 3 and not failed, show(failed)


@pytest.mark.guest_stack
def test_stack(kernel, tmp_path, monkeypatch):
    monkeypatch.setenv("FINGERPOST_BUILD", str(release()))
    tool("echo")
    results = pytest_in(kernel, tmp_path, [str(HERE / "guest_stack.py"), "--noconftest"],
                        ["-t", LIMIT, "-m", "2048"], FINGERPOST_BUILD=str(BUILD))
    failed = failures(results)
    assert len(results) == 6 and not failed, show(failed)


@pytest.mark.guest_egress
def test_egress(kernel, tmp_path, monkeypatch):
    monkeypatch.setenv("FINGERPOST_BUILD", str(release()))
    tool("echo")
    results = pytest_in(kernel, tmp_path, [str(HERE / "guest_egress.py"), "--noconftest"],
                        ["-t", LIMIT, "-m", "2048"], FINGERPOST_BUILD=str(BUILD))
    failed = failures(results)
    assert len(results) == 6 and not failed, show(failed)
