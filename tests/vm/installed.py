# SPDX-License-Identifier: Apache-2.0
"""A guest with agentd installed, and systemd as PID 1: what the tests inside share.

The tests of a file build upon each other, in the order in which they stand: booting is what costs
time, and one installation goes through all of it while a monitor watches table 119. Nothing may be
deleted from it, and nothing written to it, but where a test says so.
"""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

INSTALLED = Path(os.environ.get("FINGERPOST_INSTALLED", "/nonexistent"))
REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = Path("/etc/fingerpost/agentd.yaml")
MANIFESTS = Path("/etc/fingerpost/manifests")
MONITORED = Path("/run/monitor")
NODE = "node1"
ROUTES = ["blackhole 10.224.0.0/27 proto 30", "blackhole 198.51.100.1 proto 31"]

BLOCK = """\
apiVersion: coil.cybozu.com/v2
kind: AddressBlock
metadata: {name: default-0, labels: {coil.cybozu.com/pool: default, coil.cybozu.com/node: node1}}
index: 0
ipv4: 10.224.0.0/27
"""


def run(*command, check=True):
    done = subprocess.run(command, capture_output=True, text=True)
    assert not check or done.returncode == 0, (command, done)
    return done


def wait(condition, what, timeout=120):
    """Programs are slow here, and so is the machine sometimes: only the condition counts."""
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"waited {timeout} s for {what}:\n{service_log()}"
        time.sleep(0.1)
    return answer


def systemctl(*words, check=True):
    return run("systemctl", *words, check=check)


def service_log():
    return run("journalctl", "-u", "agentd", "-n", "40", "--no-pager", check=False).stdout


def show(*properties, unit="agentd.service"):
    """Properties of a unit; one alone as itself."""
    lines = systemctl("show", unit, "-p", ",".join(properties)).stdout.splitlines()
    values = dict(line.split("=", 1) for line in lines)
    return values[properties[0]] if len(properties) == 1 else values


def state():
    return show("ActiveState")


def main_pid():
    """0 if there is none: kill() would take that for a whole group."""
    return int(show("MainPID"))


def send(number):
    pid = main_pid()
    assert pid > 0, service_log()
    os.kill(pid, number)
    return pid


def routes():
    """Table 119, which may not exist yet."""
    lines = run("ip", "route", "show", "table", "119", check=False).stdout.splitlines()
    return sorted(re.sub(r"\s+", " ", line).strip() for line in lines)


def events(name):
    """The journal's entries of one event, by its MESSAGE_ID."""
    header = (REPOSITORY / "agent/base/event.h").read_text()
    [message_id] = re.findall(rf'^EVENT\({name}, \w+, "(\w+)"\);$', header, re.MULTILINE)
    lines = run("journalctl", "-o", "json", f"MESSAGE_ID={message_id}", check=False).stdout
    return [json.loads(line) for line in lines.splitlines()]


def ctl(*words):
    return run("agentctl", *words, check=False)


def status():
    return json.loads(ctl("status", "--json").stdout)


def install(config, **manifests):
    """What a package would do, and then the operator."""
    shutil.copytree(INSTALLED / "usr", "/usr", dirs_exist_ok=True)
    lib = INSTALLED.joinpath("usr/lib")
    run("systemd-sysusers", *map(str, lib.glob("sysusers.d/*")))
    run("systemd-tmpfiles", "--create", *map(str, lib.glob("tmpfiles.d/*")))
    run("journalctl", "--update-catalog")
    systemctl("daemon-reload")
    CONFIG.write_text(config)
    for name, text in manifests.items():
        MANIFESTS.joinpath(f"{name}.yaml").write_text(text)


def upgrade():
    """Another agentd in the place of the one that runs; it is the same program."""
    program = Path("/usr/sbin/agentd")
    before = program.stat().st_ino
    run("install", str(INSTALLED / "usr/sbin/agentd"), str(program))
    assert program.stat().st_ino != before
    systemctl("restart", "agentd")


@pytest.fixture(name="untouched")
def untouched_fixture(monitor):
    """Holds a test to: table 119 is as it was, and nobody has written to it meanwhile."""
    before = monitor()
    assert routes() == ROUTES
    yield
    assert routes() == ROUTES
    assert monitor()[len(before):] == []


@pytest.fixture(name="monitor", scope="module")
def monitor_fixture():
    """All that the kernel told of table 119 so far, after what is under way has arrived."""
    with open(MONITORED, "w", encoding="utf-8") as file:
        process = subprocess.Popen(["ip", "monitor", "route"], stdout=file)
    marks = iter(range(1, 250))

    def mark():
        prefix = f"203.0.113.{next(marks)}"
        run("ip", "route", "add", "blackhole", prefix, "table", "99")
        return prefix

    def told():
        last = mark()
        wait(lambda: last in MONITORED.read_text(), "the monitor")
        return [line for line in MONITORED.read_text().splitlines() if "table 119" in line]

    first = mark()  # until it has subscribed, it may miss one
    while first not in MONITORED.read_text():
        assert process.poll() is None
        time.sleep(0.2)
        first = mark()
    yield told
    process.terminate()
    process.wait()
