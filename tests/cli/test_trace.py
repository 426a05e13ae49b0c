# SPDX-License-Identifier: Apache-2.0
"""`agentctl trace`: what it asks, what it refuses to ask, and its exit statuses."""

import json

import pytest

import asked_documents

FORWARDED = """\
10.224.0.9:5000 -> 10.96.0.10:80/TCP: forward
  in        veth7: a pod's interface, to which the route to 10.224.0.9 leads
  program   pod-in: what the pod sends
  service   default/web:http has this address, port and protocol
  verdict   forward
"""


def question(source, destination, protocol, where=None):
    path = f"/v1/trace?source={source}&destination={destination}&protocol={protocol}"
    return path.replace(":", "%3A").replace("[", "%5B").replace("]", "%5D") + (
        f"&in={where}" if where else ""
    )


# The words, and what is asked of the agent.
ASKED = [
    (["10.0.0.1", "10.96.0.10:80/TCP"], question("10.0.0.1", "10.96.0.10:80", "TCP")),
    (["10.0.0.1:5000", "10.96.0.10:80/udp"], question("10.0.0.1:5000", "10.96.0.10:80", "UDP")),
    (["fd00::1", "[fd00::2]:80/SCTP"], question("fd00::1", "[fd00::2]:80", "SCTP")),
    (["[fd00::1]", "[fd00:0::2]:080/tcp"], question("fd00::1", "[fd00::2]:80", "TCP")),
    (["[fd00::1]:9", "[fd00::2]:80/tcp"], question("[fd00::1]:9", "[fd00::2]:80", "TCP")),
    (["10.0.0.1", "[::ffff:10.0.0.2]:80/tcp"], question("10.0.0.1", "10.0.0.2:80", "TCP")),
    (["10.0.0.1", "10.0.0.2/icmp"], question("10.0.0.1", "10.0.0.2", "ICMP")),
    (["[fd00::1]:7", "fd00::2/ICMP"], question("[fd00::1]:7", "fd00::2", "ICMP")),
    (["--in=host", "10.0.0.1", "10.0.0.2:80/tcp"],
     question("10.0.0.1", "10.0.0.2:80", "TCP", "host")),
    (["10.0.0.1", "10.0.0.2:80/tcp", "--in", "eth0.5&x"],
     question("10.0.0.1", "10.0.0.2:80", "TCP", "eth0.5%26x")),
]


@pytest.mark.parametrize("words, path", ASKED, ids=lambda value: " ".join(value))
def test_what_is_asked(ctl, agent, words, path):
    agent({path: asked_documents.TRACE})
    assert ctl.run("trace", *words) == (0, FORWARDED, "")
    code, output, errors = ctl.run("trace", *words, "--json")
    assert (code, errors) == (0, "") and json.loads(output) == asked_documents.TRACE


@pytest.mark.parametrize("verdict", ["forward", "reject", "drop", "pass"])
def test_any_answer_is_success(ctl, agent, verdict):
    agent({question("10.0.0.1", "10.0.0.2:80", "TCP"): {
        **asked_documents.REFUSED_TRACE, "verdict": verdict, "steps": [],
    }})
    words = ["trace", "10.0.0.1", "10.0.0.2:80/TCP"]
    code, output, _ = ctl.run(*words)
    expected = f"fd00::9 -> [fd00::10]:53/UDP: {verdict}, no usable endpoint anywhere\n"
    assert (code, output) == (0, expected)
    assert ctl.run(*words, "--json")[0] == 0


DROPPED = {**asked_documents.LEAVING_TRACE["egress"], "verdict": "drop", "reason": "no-gateway",
           "reasonText": "no gateway of the Egress is usable"}


@pytest.mark.parametrize("egress, words", [
    (asked_documents.LEAVING_TRACE["egress"], "pass, to a gateway"),
    ({**asked_documents.LEAVING_TRACE["egress"], "side": "gateway"}, "pass, by this gateway"),
    ({**asked_documents.LEAVING_TRACE["egress"], "verdict": "pass"}, "pass"),
    (DROPPED, "drop, no gateway of the Egress is usable"),
])
def test_egress_has_the_last_word(ctl, agent, egress, words):
    agent({question("10.0.0.1", "10.0.0.2:80", "TCP"): {**asked_documents.LEAVING_TRACE,
                                                       "egress": egress}})
    code, output, _ = ctl.run("trace", "10.0.0.1", "10.0.0.2:80/TCP")
    assert code == 0
    assert output.splitlines()[0] == f"10.224.0.9:5000 -> 198.51.100.80:443/TCP: {words}"


BAD = [
    (["10.0.0.1", "10.0.0.2:80/ICMP"], "DST '10.0.0.2:80/ICMP': of ICMP it is ADDRESS/ICMP, "),
    (["10.0.0.1", "web/ICMP"], "DST 'web/ICMP': of ICMP it is ADDRESS/ICMP, "),
    (["10.0.0.1", "x" * 100 + "/ICMP"], "DST '" + "x" * 100 + "/ICMP': too long"),
    (["10.0.0.1", "10.0.0.2:80/GRE"], "DST '10.0.0.2:80/GRE': the protocol is none of "),
    (["10.0.0.1", "10.0.0.2:80/"], "DST '10.0.0.2:80/': the protocol is none of "),
    (["10.0.0.1", "10.0.0.2/TCP"], "DST '10.0.0.2/TCP': no port; "),
    (["10.0.0.1", "10.0.0.2:0/TCP"], "DST '10.0.0.2:0/TCP': a port is 1 to 65535\n"),
    (["10.0.0.1", "10.0.0.2:65536/TCP"], "DST '10.0.0.2:65536/TCP': a port is 1 to 65535\n"),
    (["10.0.0.1", "[fd00::2]:/TCP"], "DST '[fd00::2]:/TCP': a port is 1 to 65535\n"),
    (["10.0.0.1", "10.0.0.2:http/TCP"], "DST '10.0.0.2:http/TCP': a port is 1 to 65535\n"),
    (["10.0.0.1", "10.0.0.2:80:80/TCP"], "DST '10.0.0.2:80:80/TCP': not ADDRESS:PORT, "),
    (["10.0.0.1", "web:80/TCP"], "DST 'web:80/TCP': not ADDRESS:PORT, "),
    (["10.0.0.1", "fd00::2:80/TCP"], "DST 'fd00::2:80/TCP': no port; "),
    (["10.0.0.1", "x" * 100 + ":80/TCP"], "DST '" + "x" * 100 + ":80/TCP': too long"),
    (["10.0.0.300", "10.0.0.2:80/TCP"], "SRC '10.0.0.300': not ADDRESS or ADDRESS:PORT, "),
    (["10.0.0.1:70000", "10.0.0.2:80/TCP"], "SRC '10.0.0.1:70000': a port is 1 to 65535\n"),
    (["[fd00::1]:0", "[fd00::2]:80/TCP"], "SRC '[fd00::1]:0': a port is 1 to 65535\n"),
    (["", "10.0.0.2:80/TCP"], "SRC '': not ADDRESS or ADDRESS:PORT, "),
    (["fd00::1", "10.0.0.2:80/TCP"], "DST '10.0.0.2:80/TCP': not of the family of SRC"),
    (["10.0.0.1", "10.0.0.2:80/TCP", "--in="], "--in '': neither the name of an interface "),
    (["10.0.0.1", "10.0.0.2:80/TCP", "--in=a/b"], "--in 'a/b': neither the name of "),
    (["10.0.0.1", "10.0.0.2:80/TCP", "--in=abcdefghijklmnop"], "--in 'abcdefghijklmnop': "),
    (["10.0.0.1"], "usage: agentctl trace SRC DST"),
    (["10.0.0.1", "10.0.0.2:80/TCP", "x"], "usage: agentctl trace SRC DST"),
]


@pytest.mark.parametrize("words, message", BAD, ids=lambda value: "".join(value)[:40])
def test_bad_arguments(ctl, words, message):
    code, output, errors = ctl.run("trace", *words)
    assert (code, output) == (64, "") and errors.startswith("agentctl: " + message)
    assert errors.count("\n") == 1


def test_failures(ctl, agent):
    words = ["trace", "10.0.0.1", "10.0.0.2:80/TCP"]
    assert ctl.run(*words)[0] == 3
    path = question("10.0.0.1", "10.0.0.2:80", "TCP")
    for status, code in ((400, 64), (503, 2), (500, 2)):
        ctl.socket.unlink(missing_ok=True)
        agent({path: (status, {"error": "in: no"})})
        assert ctl.run(*words) == (code, "", "agentctl: in: no\n")
        assert ctl.run(*words, "--json") == (code, "", "agentctl: in: no\n")
    assert ctl.run("status", "--in=eth0")[2].startswith("agentctl: status has no option --in")


def test_without_a_protocol_it_is_tcp_and_says_so(ctl, agent):
    agent({"/v1/trace?source=10.0.0.1&destination=10.0.0.2%3A80&protocol=TCP": asked_documents.TRACE})
    code, output, _ = ctl.run("trace", "10.0.0.1", "10.0.0.2:80")
    assert code == 0
    assert output.splitlines()[1] == "  protocol  TCP, since none was named; /UDP or /SCTP behind the port"


def test_an_address_without_a_port_is_asked_by_its_first(ctl, agent):
    asked = {**asked_documents.EXPLANATION, "nat": {"frontends": [{"port": 53, "protocol": "UDP"}, {"port": 80, "protocol": "TCP"}]}}
    agent({"/v1/explain?address=10.0.0.2": asked,
           question("10.0.0.1", "10.0.0.2:53", "UDP"): {**asked_documents.TRACE, "protocol": "UDP"},
           question("10.0.0.1", "10.0.0.2:80", "TCP"): asked_documents.TRACE})
    code, output, _ = ctl.run("trace", "10.0.0.1", "10.0.0.2")
    assert code == 0 and "/UDP: forward" in output and "the first that a Service has there" in output
    assert "/TCP: forward" in ctl.run("trace", "10.0.0.1", "10.0.0.2/TCP")[1]
    code, _, errors = ctl.run("trace", "10.0.0.1", "10.0.0.2/SCTP")
    assert code == 64 and "no Service has one there" in errors
