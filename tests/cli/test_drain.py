# SPDX-License-Identifier: Apache-2.0
"""drain, withdraw, undrain: what is told to the agent, and what it says to that."""

import json

from documents import status

STANDING = {"phase": "drained", "since": None, "endsInMs": None, "reason": None, "nodeGone": False}


def test_a_reason_goes_with_the_operators_word(ctl, agent):
    reason = 'kernel "6.12"\nand more'
    told = status(standing={**STANDING, "reason": reason})
    server = agent({"/v1/drain": told, "/v1/withdraw": told, "/v1/undrain": status()})
    assert ctl.run("drain", "--no-wait", "--reason", reason, "--for=1m30s")[0] == 0
    assert ctl.run("withdraw", "--reason", reason)[0] == 0
    assert ctl.run("undrain")[0] == 0
    json_type = "application/json"
    assert [(path, kind) for path, kind, _ in server.posted] == [
        ("/v1/drain", json_type), ("/v1/withdraw", json_type),
        ("/v1/undrain", "application/x-www-form-urlencoded"),
    ]
    bodies = [body and json.loads(body) for _, _, body in server.posted]
    assert bodies == [{"reason": reason, "announceFor": "1m30s"}, {"reason": reason}, ""]


def test_an_agent_that_keeps_no_reason_is_told_of(ctl, agent):
    agent({"/v1/withdraw": status(standing={key: STANDING[key] for key in STANDING if key != "reason"})})
    code, out, err = ctl.run("withdraw", "--reason=disk")
    assert (code, out) == (0, "drained\n") and "older than the command" in err


def test_what_the_agent_says_of_a_body_is_shown(ctl, agent):
    agent({"/v1/drain": (400, {"error": "body:1:12: reason: expected one line", "place": "body:1:12"})})
    code, _, err = ctl.run("drain", "--reason=a")
    assert (code, err) == (64, "agentctl: body:1:12: reason: expected one line\n")
    assert ctl.run("drain", "--for=soon")[0] == 64
    assert "has no option --for" in ctl.run("withdraw", "--for=1s")[2]
    assert "has no option --reason" in ctl.run("undrain", "--reason=a")[2]
