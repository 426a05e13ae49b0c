# SPDX-License-Identifier: Apache-2.0
"""What holds for all verbs: errors and their exit statuses, options, terminals, colour."""

import os
import pathlib
import shutil
import socket
import subprocess

import pytest

import asked_documents
import documents
from conftest import AGENTCTL, environment
from documents import fault, items, status

GREEN, YELLOW, RED, RESET = "\033[32m", "\033[33m", "\033[31m", "\033[0m"


def test_no_socket(ctl):
    for words in (["status"], ["routes", "--json"], ["explain", "10.0.0.1"]):
        assert ctl.run(*words) == (
            3,
            "",
            f"agentctl: cannot reach the agent at {ctl.socket}: no such file "
            "(is agentd.service running?)\n"
            "agentctl: what an agent has written to the kernel stays in force without it; "
            "see: systemctl status agentd, agentctl doctor\n",
        )


def test_nobody_answers(ctl):
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(ctl.socket))
    code, output, errors = ctl.run()
    assert code == 3 and output == "" and "nobody answers there" in errors


def test_silence_ends_after_the_timeout(ctl):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(ctl.socket))
        silent.listen()
        assert ctl.run("--timeout=100ms") == (
            3,
            "",
            f"agentctl: cannot reach the agent at {ctl.socket}: no answer within 100ms "
            "(--timeout): it is busy, or hangs\n"
            "agentctl: what an agent has written to the kernel stays in force without it; "
            "see: systemctl status agentd, agentctl doctor\n",
        )


def test_no_permission(ctl, agent, tmp_path):
    agent({"/v1/status": status()})
    os.chmod(ctl.socket, 0)
    options = {}
    if os.geteuid() == 0:  # root may do anything; nobody needs a program within reach
        reach = pathlib.Path("/var/tmp") / f"agentctl-{os.getpid()}"
        shutil.copy(AGENTCTL, reach)
        reach.chmod(0o755)
        options = {"user": 65534, "executable": str(reach)}
    try:
        code, output, errors = ctl.run(**options)
    finally:
        if options:
            reach.unlink()
    assert code == 77 and output == ""
    assert errors == (
        f"agentctl: cannot reach the agent at {ctl.socket}: permission denied "
        "(root and group fingerpost may)\n"
    )


@pytest.mark.parametrize(
    "reply, code",
    [
        ((500, b""), 2),
        ((404, {"error": "nobody names it"}), 4),
        ((403, {"error": "for root only"}), 77),
        ((200, b"<html>"), 2),
        ((200, b"[1]"), 2),
        ((200, b""), 2),
    ],
)
def test_odd_answers(ctl, agent, reply, code):
    agent({"/v1/routes": reply})
    got, output, errors = ctl.run("routes")
    assert (got, output) == (code, "")
    assert errors.startswith("agentctl: ") and errors.count("\n") == 1


def test_an_agent_of_another_version(ctl, agent):
    """It lacks no object: exit status 4 would say so to a script."""
    agent({"/v1/status": {**status(), "version": "0.0.9"}})
    code, output, errors = ctl.run("routes")
    assert (code, output) == (2, "") and "(version 0.0.9) knows no answer to this; agentctl is " in errors


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["nonsense"], "unknown verb 'nonsense'"),
        (["config"], "config wants check or show"),
        (["config", "shake"], "config wants check or show"),
        (["help", "config"], "config wants check or show"),
        (["conf"], "unknown verb 'conf'"),
        (["--nonsense"], "unknown option '--nonsense'"),
        (["-x"], "unknown option '-x'"),
        (["plan"], "-f DIR"),
        (["plan", "-f"], "missing after '-f'"),
        (["plan", "extra", "-f", "."], "usage: agentctl plan -f DIR"),
        (["explain"], "usage: agentctl explain ADDR|NS/NAME"),
        (["explain", "1.2.3.4", "5"], "usage: agentctl explain ADDR|NS/NAME"),
        (["explain", "10.0.0.1/33"], "ADDRESS:PORT/PROTOCOL: '10.0.0.1/33'"),
        (["explain", "10.0.0.1/24"], "ADDRESS:PORT/PROTOCOL: '10.0.0.1/24'"),
        (["explain", "Web"], "'Web'"),
        (["status", "now"], "usage: agentctl status"),
        (["routes", "--wait=1s"], "routes has no option --wait"),
        (["status", "-f", "."], "status has no option --folder"),
        (["config", "check", "--node=x"], "config check has no option --node"),
        (["--timeout=5"], "'5'"),
        (["--wait=soon"], "'soon'"),
        (["--color=sometimes"], "'sometimes'"),
        (["-o", "yaml"], "-o wants wide, json or name, not 'yaml'"),
        (["-o", "wide"], "status has no option -o wide"),
        (["diff", "-o", "name"], "diff has no option -o name"),
        (["faults", "-c", "place"], "faults has no option --columns"),
        (["plan", "-w", "-f", "."], "plan has no option --watch"),
        (["routes", "--brief"], "routes has no option --brief"),
        (["routes", "-c", "prefix,colour"], "no column 'colour'; there are prefix state "),
        (["routes", "-c", "prefix,"], "no column ''; there are prefix state "),
        (["routes", "-c", "prefix", "--json"], "exclude each other"),
        (["status", "--watch", "--wait=1s"], "--watch and --wait exclude each other"),
        (["status", "--brief", "-o", "json"], "--brief and --json exclude each other"),
    ],
)
def test_usage(ctl, words, complaint):
    code, output, errors = ctl.run(*words)
    assert (code, output) == (64, "")
    assert complaint in errors and errors.count("\n") == 1


def test_options_stand_anywhere(ctl, agent):
    agent({"/v1/routes": items("RouteList", [])})
    expected = (0, '{"apiVersion": "v1", "kind": "RouteList", "items": []}\n', "")
    assert ctl.run("routes", "--json") == expected
    assert ctl.run("--json", "routes") == expected


def test_a_full_disk_is_a_failure(ctl, agent):
    agent({"/v1/status": status()})
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            ctl.command(), stdout=full, stderr=subprocess.PIPE, env=environment(), timeout=60
        )
    assert result.returncode == 2 and b"standard output" in result.stderr


ILL = status(health="degraded", faults=[fault()])


@pytest.mark.parametrize(
    "words, env, terminal, colored",
    [
        ([], {}, True, True),
        ([], {}, False, False),
        ([], {"NO_COLOR": "1"}, True, False),
        ([], {"NO_COLOR": ""}, True, True),
        ([], {"TERM": "dumb"}, True, False),
        (["--color=auto"], {"NO_COLOR": "1"}, True, False),
        (["--color=always"], {"NO_COLOR": "1", "TERM": "dumb"}, True, True),
        (["--color=always"], {}, False, True),
        (["--color=never"], {}, True, False),
    ],
)
def test_color(ctl, agent, words, env, terminal, colored):
    agent({"/v1/status": ILL, "/v1/routes": items("RouteList", documents.ROUTES)})
    env = environment(**env)
    for verb in ("status", "routes"):
        if terminal:
            _, output = ctl.on_terminal(verb, *words, env=env)
        else:
            _, output, _ = ctl.run(verb, *words, env=env)
        assert ("\033[" in output) == colored


def test_color_is_on_the_state_word_only(ctl, agent):
    agent({"/v1/status": ILL, "/v1/routes": items("RouteList", documents.ROUTES)})
    _, plain, _ = ctl.run()
    _, output, _ = ctl.run("--color=always")
    assert f"{YELLOW}degraded{RESET}: 1 fault\n" in output
    assert f"  Manifests   {YELLOW}WARN{RESET}  synced" in output
    assert f"  Routes      {GREEN}OK{RESET}    4 wanted" in output
    for sequence in (GREEN, YELLOW, "\033[2m", RESET):
        output = output.replace(sequence, "")
    assert output == plain
    _, output, _ = ctl.run("routes", "--color=always")
    assert output.count(GREEN) == 2 and output.count(YELLOW) == 1


def test_narrow_terminal_cuts_what_may_give_way(ctl, agent):
    agent({"/v1/routes": items("RouteList", documents.ROUTES)})
    code, output = ctl.on_terminal("routes", "--color=never", columns=60)
    lines = output.splitlines()
    assert code == 0 and max(map(len, lines)) <= 60
    assert "10.224.0.0/27" in output and "announced" in output
    assert "no usable endpoint here" not in output
    code, output = ctl.on_terminal("routes", "--color=never", columns=160)
    assert "policy Local, no usable endpoint here" in output


def test_a_locale_without_the_dot(ctl, agent):
    agent({"/v1/status": status()})
    _, output, _ = ctl.run(env=environment(LC_ALL="C"))
    assert output.startswith("node-7 - agent 0.1.0 - up 3d 4h - healthy\n")
    assert output.isascii()


EVIL = "\033]0;owned\007 \x9b31m end"


def test_control_characters_do_not_reach_the_terminal(ctl, agent):
    evil = fault(place=EVIL, message=EVIL, remedy=EVIL)
    claim = {**documents.CLAIM, "name": EVIL}
    route = {**documents.ROUTES[1], "objects": [claim], "reasonText": EVIL, "state": "withheld"}
    service = {**asked_documents.EXPLANATION["services"][0], "name": EVIL}
    agent(
        {
            "/v1/status": status(health="degraded", node=EVIL, faults=[evil]),
            "/v1/faults": items("FaultList", [evil]),
            "/v1/routes": items("RouteList", [route]),
            "/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, "services": [service]},
        }
    )
    for words in (["status"], ["faults"], ["routes"], ["explain", "10.0.0.1"]):
        _, output, _ = ctl.run(*words)
        assert "end" in output
        assert not set(output) & {"\033", "\007", "\x9b"}, words
