# SPDX-License-Identifier: Apache-2.0
"""agentd as an operator runs it: the installed unit, under systemd as PID 1. Runs inside the guest,
which test_vm.py boots; see installed.py. Service NAT is guest_services.py's."""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from installed import (  # noqa: F401 # some are fixtures
    BLOCK,
    CONFIG,
    MANIFESTS,
    NODE,
    ROUTES,
    ctl,
    events,
    install,
    main_pid,
    monitor_fixture,
    routes,
    run,
    send,
    service_log,
    show,
    state,
    status,
    systemctl,
    untouched_fixture,
    upgrade,
    wait,
)

GOOD = f"node: {NODE}\nsource: {{manifests: {MANIFESTS}}}\nservices: {{enabled: false}}\n"
ADJ_MAXERROR, ADJ_STATUS, STA_UNSYNC = 4, 0x10, 0x40  # of sys/timex.h
CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF = 12, 38, 39

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  type: LoadBalancer
  clusterIP: 10.96.0.1
  clusterIPs: [10.96.0.1]
  ipFamilies: [IPv4]
  externalTrafficPolicy: Cluster
  internalTrafficPolicy: Cluster
  ports: [{name: p80, port: 80, protocol: TCP, targetPort: 80}]
status: {loadBalancer: {ingress: [{ip: 198.51.100.1, ipMode: VIP}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-a, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: p80, port: 80, protocol: TCP}]
endpoints: [{addresses: [10.224.0.2], conditions: {ready: true}, nodeName: node1}]
"""


@pytest.fixture(scope="module", autouse=True)
def installation():
    install(GOOD, web=SERVICE, block=BLOCK)


def test_start_returns_only_after_ready():
    """As long as the manifests are missing, the agent isn't ready, and start doesn't return."""
    hidden = MANIFESTS.with_name("hidden")
    MANIFESTS.rename(hidden)
    start = subprocess.Popen(["systemctl", "start", "agentd"])
    wait(lambda: "waiting for the manifests" in show("StatusText"), "the first STATUS")
    assert (state(), start.poll(), routes()) == ("activating", None, [])
    hidden.rename(MANIFESTS)
    assert start.wait(120) == 0
    assert (state(), routes()) == ("active", ROUTES)


def test_status_shows_the_words_of_the_agent():
    shown = systemctl("status", "--no-pager", "agentd").stdout
    assert 'Status: "1 address announced, 1 withheld, 1 block, 0 faults"' in shown, shown


def test_it_runs_without_privileges_but_three():
    words = Path(f"/proc/{main_pid()}/status").read_text()
    has = dict(re.findall(r"^(\w+):\s+(\S+)", words, re.MULTILINE))
    user = run("id", "-u", "fingerpost").stdout.strip()
    assert (has["Uid"], has["NoNewPrivs"], has["Seccomp"]) == (user, "1", "2") and user != "0"
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(has[kind], 16) == 1 << CAP_NET_ADMIN | 1 << CAP_PERFMON | 1 << CAP_BPF, kind
    bird = run("getent", "group", "bird").stdout.split(":")[2]
    assert bird in re.search(r"^Groups:(.*)$", words, re.MULTILINE)[1].split(), "BIRD's socket"
    owner = run("stat", "-c", "%U %G %a", "/var/lib/fingerpost", "/run/fingerpost/agentd.sock")
    assert owner.stdout.splitlines() == ["fingerpost fingerpost 755", "root fingerpost 660"]


def test_the_socket_is_for_the_group():
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"]
    answers = [
        run(*nobody, f"--regid={group}", "agentctl", "status", check=False).returncode
        for group in ("65534", "fingerpost")
    ]
    assert answers == [77, 0]


class Timex(ctypes.Structure):
    """The beginning of struct timex, and room for the rest."""

    _fields_ = [("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long),
                ("maxerror", ctypes.c_long), ("esterror", ctypes.c_long), ("status", ctypes.c_int),
                ("rest", ctypes.c_char * 256)]


def test_doctor_sees_whether_something_keeps_the_clock_right(tmp_path):
    """By the kernel's own word, which is one for all its programs: here it is the guest's."""
    libc, file = ctypes.CDLL(None, use_errno=True), tmp_path / "agentd.yaml"
    file.write_text(f"node: {NODE}\nsource: {{kubernetes: {{kubeconfig: /none}}}}\n")
    told = []
    for status in (STA_UNSYNC, 0):
        clock = Timex(modes=ADJ_STATUS | ADJ_MAXERROR, maxerror=0, status=status)
        assert libc.adjtimex(ctypes.byref(clock)) >= 0, os.strerror(ctypes.get_errno())
        items = json.loads(ctl("doctor", "--config", str(file), "--json").stdout)["items"]
        told += [item["verdict"] for item in items if item["check"] == "machine.clock"]
    assert told == ["warning", "ok"], told


def test_the_journal_has_fields_and_explanations():
    [ready] = events("ready")
    assert ready["_SYSTEMD_UNIT"] == "agentd.service"
    assert (ready["PRIORITY"], ready["SYSLOG_IDENTIFIER"]) == ("5", "agentd")
    assert sorted(entry["PREFIX"] for entry in events("announced")) == [
        "10.224.0.0/27", "198.51.100.1/32"
    ]
    explained = run("journalctl", "-x", "PREFIX=198.51.100.1/32").stdout
    assert "198.51.100.1/32 is announced" in explained, explained


def test_reload_with_a_bad_file_keeps_the_old_one_and_says_so(untouched):
    before = main_pid()
    CONFIG.write_text(GOOD + "routes: {table: many}\n")
    systemctl("reload", "agentd")
    wait(lambda: "configuration is refused" in show("StatusText"), "STATUS to say so")
    assert status()["config"]["refused"] is True
    assert (state(), main_pid()) == ("active", before)
    [refused] = events("config_refused")
    assert refused["OBJECT"] == str(CONFIG)
    assert any(f"{CONFIG}:4:" in fault["OBJECT"] for fault in events("fault_raised"))

    CONFIG.write_text(GOOD)
    systemctl("reload", "agentd")
    wait(lambda: "refused" not in show("StatusText"), "the good file to be taken")
    assert len(events("config_reloaded")) == 1 and status()["config"]["refused"] is False


def test_agentctl_waits_for_a_restart_to_end(untouched):
    before, answers, over = main_pid(), [], threading.Event()

    def ask():
        while not over.is_set():
            answer = ctl("routes", "--json", "--timeout=60s")  # a restart of an emulated machine takes its time
            answers.append((answer.returncode, answer.stderr))

    asking = threading.Thread(target=ask)
    asking.start()
    for _ in range(3):
        asked = len(answers)
        systemctl("restart", "agentd")
        wait(lambda: len(answers) > asked + 1, "answers after the restart")
    over.set()
    asking.join()
    assert main_pid() != before
    assert set(answers) == {(0, "")}, answers


def test_stop_leaves_everything_and_a_question_starts_it_again(untouched):
    systemctl("stop", "agentd")
    assert (state(), show("Result"), routes()) == ("inactive", "success", ROUTES)
    assert len(events("stopped")) == 4
    assert state() == "inactive" and show("ActiveState", unit="agentd.socket") == "active"
    assert ctl("status", "--wait=120s").returncode == 0
    assert state() == "active"


def test_an_upgrade_in_place_touches_no_route(untouched):
    upgrade()
    assert state() == "active" and len(events("announced")) == 2


def test_an_agent_that_hangs_is_replaced(untouched):
    settings = Path("/run/systemd/system/agentd.service.d/watchdog.conf")
    settings.parent.mkdir()
    settings.write_text("[Service]\nWatchdogSec=8s\n")
    systemctl("daemon-reload")
    systemctl("restart", "agentd")
    before, restarts = main_pid(), int(show("NRestarts"))
    assert before > 0
    # Fed, it outlives its watchdog.
    time.sleep(10)
    assert (main_pid(), int(show("NRestarts"))) == (before, restarts)

    send(signal.SIGSTOP)
    wait(lambda: int(show("NRestarts")) == restarts + 1 and state() == "active", "the next agent")
    assert main_pid() not in (0, before)
    assert "Watchdog timeout" in service_log()
    assert ctl("status", "--wait=120s").returncode == 0


def test_a_broken_configuration_is_not_retried(untouched):
    refusals = len(events("config_refused"))
    CONFIG.write_text(GOOD + "colour: blue\n")
    assert systemctl("restart", "agentd", check=False).returncode != 0
    # What is to be retried is "activating (auto-restart)" at this point.
    ended = show("ActiveState", "SubState", "ExecMainStatus", "NRestarts")
    assert ended == {
        "ActiveState": "failed", "SubState": "failed", "ExecMainStatus": "78", "NRestarts": "0"
    }
    assert len(events("config_refused")) == refusals + 1
    # A question starts it once more at most twice (it is asked again), and not for ever.
    answer = ctl("status")
    assert answer.returncode == 3 and "hung up" in answer.stderr, answer
    wait(lambda: state() == "failed", "the end of what the question started")
    assert len(events("config_refused")) <= refusals + 3
    assert show("ActiveState", unit="agentd.socket") == "active"

    CONFIG.write_text(GOOD)
    systemctl("start", "agentd")
    assert state() == "active"


def test_kill_is_survived(untouched):
    before = send(signal.SIGKILL)
    wait(lambda: main_pid() not in (0, before) and state() == "active", "the next agent")
    assert ctl("status", "--wait=120s").returncode == 0


def test_the_dead_man_withdraws_when_no_agent_runs():
    CONFIG.write_text(GOOD + "routes: {deadman: 1s}\n")
    systemctl("start", "agentd-deadman")
    systemctl("stop", "agentd.socket", "agentd.service")
    wait(lambda: routes() == ROUTES[:1], "the withdrawal")
    [told] = wait(lambda: events("deadman"), "the event")
    assert (told["ROUTES"], told["_SYSTEMD_UNIT"]) == ("1", "agentd-deadman.service")
    systemctl("stop", "agentd-deadman")
    systemctl("start", "agentd")
    assert (state(), routes()) == ("active", ROUTES)
    assert show("ActiveState", unit="agentd.socket") == "active"


def test_it_still_works_and_the_monitor_sees(monitor):
    """What the tests before relied on: changes would have been seen."""
    told = len(monitor())
    run("ip", "route", "del", "blackhole", "198.51.100.1", "table", "119")
    wait(lambda: routes() == ROUTES, "the repair")
    [repaired] = wait(lambda: events("routes_repaired"), "the event")
    assert repaired["ROUTES"] == "1" and int(repaired["WRITER"]) > 0
    MANIFESTS.joinpath("web.yaml").unlink()
    wait(lambda: routes() == ROUTES[:1], "the withdrawal")
    [withdrawn] = wait(lambda: events("withdrawn"), "the event")
    assert withdrawn["PREFIX"] == "198.51.100.1/32"
    assert "no service names it" in withdrawn["MESSAGE"]
    assert sum(line.startswith("Deleted") for line in monitor()[told:]) == 2


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))
