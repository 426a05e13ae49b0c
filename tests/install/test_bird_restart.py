# SPDX-License-Identifier: Apache-2.0
"""BIRD is restarted by its package, by the operator and by a crash: what the ToR's BIRD withdraws, without
the drop-in of deploy/systemd/bird-restart.conf and with it. systemd is PID 1 on a bare Debian root."""

import json
import time

import pytest
from lab import Lab, wait
from lab.agent import REPOSITORY
from test_first_run import ADDRESS, BLOCK, Machine, cluster, commands

PREFIXES, LOST = (f"{ADDRESS}/32", BLOCK), {ADDRESS, BLOCK}  # as BIRD and as the kernel write them


@pytest.fixture(name="machine", params=["12", "13"])
def machine_fixture(request):
    with Lab(f"restart{request.param}", nodes=1) as lab:
        machine = Machine(lab, request.param)
        try:
            [package] = sorted((REPOSITORY / "build-deb").glob("fingerpost_*.deb"))[-1:]
            machine.copy(package, f"/root/{package.name}")
            for command in commands("Install"):
                machine.must(command)
            machine.write("/etc/fingerpost/manifests/cluster.yaml", cluster(machine.node))
            for command in commands("Four commands"):
                machine.must(command)
            announced(machine)
            yield machine
        finally:
            machine.down()


def announced(machine):
    for prefix in PREFIXES:
        wait(lambda prefix=prefix: machine.lab.tor.paths(prefix), f"{prefix} on the ToR", 60)


def bird(machine):
    """BIRD's process of now."""
    return machine.must("systemctl show --value -p MainPID bird").strip()


def doctor(machine):
    """What the doctor says of it."""
    [found] = [item for item in json.loads(machine.run("agentctl doctor --json").stdout)["items"]
               if item["check"] == "bird.restart"]
    return found


def losses(machine, command):
    """What the ToR lost of it, until BIRD has its session again and all is sent."""
    monitor, before = machine.lab.monitor(), bird(machine)
    machine.run(command)
    wait(lambda: bird(machine) not in ("0", before), "another BIRD", 30)
    wait(lambda: "Established" in machine.run("birdc show protocols fingerpost_tor4").stdout, "the session", 60)
    began = time.monotonic()
    wait(lambda: "recovery" not in machine.run("birdc show status").stdout, "the end of the recovery", 60)
    announced(machine)
    print(f"{command}: {monitor.losses()} recovery {time.monotonic() - began:.1f} s")
    return [prefix for _, prefix, _ in monitor.losses()]


def test_an_orderly_restart_withdraws_nothing(machine):
    assert set(losses(machine, "systemctl restart bird")) == LOST, "without the drop-in"
    warned = doctor(machine)
    assert warned["verdict"] == "warning" and "bird.service" in warned["found"], warned
    machine.must(warned["remedy"])
    assert doctor(machine)["verdict"] == "ok"
    for _ in range(3):
        assert losses(machine, "systemctl restart bird") == []
    assert losses(machine, "deb-systemd-invoke restart bird.service") == [], "as the package's upgrade does it"
    assert losses(machine, "systemctl kill -s KILL bird") == []
    assert "-R" in machine.must("tr '\\0' ' ' </proc/$(systemctl show --value -p MainPID bird)/cmdline")
    # Who stops it for good takes the node out at once, and the next start is not held up.
    monitor = machine.lab.monitor()
    machine.must("systemctl stop bird")
    wait(lambda: {prefix for _, prefix, _ in monitor.losses()} == LOST, "the withdrawal", 5)
    machine.must("systemctl start bird")
    assert "-R" not in machine.must("tr '\\0' ' ' </proc/$(systemctl show --value -p MainPID bird)/cmdline")
    announced(machine)
