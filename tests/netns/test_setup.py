# SPDX-License-Identifier: Apache-2.0
"""agentctl setup on machines of different make writes what doctor passes, and nothing unasked."""

import json

import pytest
import schema
import yaml
from cluster import write_web
from lab import objects
from lab.agent import Agent


class Machine:
    def __init__(self, lab):
        self.lab = lab
        [self.node] = lab.nodes
        lab.write("nodes.yaml", *self.node.objects())
        write_web(lab)
        self.agent = Agent(self.node, {"manifests": str(lab.manifests)})
        self.config = self.node.folder / "etc" / "agentd.yaml"
        self.lines = self.config.with_name("bird-lines.conf")

    def setup(self, *words):
        return self.agent.ctl("setup", "--config", str(self.config), "-f", str(self.lab.manifests), *words)

    def written(self):
        done = self.setup("--write")
        assert done.code == 0, done
        return yaml.safe_load(self.config.read_text())

    def failures(self, verdict="failed"):
        done = self.agent.ctl("doctor", "--config", str(self.config), "--json")
        return [item for item in json.loads(done.out)["items"] if item["verdict"] == verdict]


@pytest.fixture(name="machine")
def machine_fixture(lab):
    lab.wait_sessions()
    return Machine(lab)


pytestmark = pytest.mark.lab(nodes=1)


def without_bird(machine):
    machine.node.bird.process.kill()
    machine.node.bird.process.wait()
    machine.node.bird.socket.unlink()


def test_a_node_with_bird(machine):
    made = machine.written()
    assert made["node"] == "node1"
    assert made["bird"]["socket"] == str(machine.node.bird.socket)
    assert made["routes"]["table"] == 119
    assert machine.failures() == []


def test_a_node_by_another_name(machine):
    node = machine.node
    machine.lab.write("nodes.yaml", objects.node("rack7.example.org", [node.address4, node.address6]))
    assert machine.written()["node"] == "rack7.example.org"
    assert machine.failures() == []


def test_a_node_without_bird(machine):
    without_bird(machine)
    shown = machine.setup("--write").out
    assert "start BIRD, then again: agentctl setup --write" in shown, shown
    assert "bird" not in machine.written()
    assert machine.failures() == []
    [warning] = [item for item in machine.failures("warning") if item["check"] == "bird.socket"]
    assert "BIRD is not asked" in warning["found"] and "agentctl setup --write" in warning["remedy"]


def test_a_dual_stack_node_with_one_default_route(machine):
    """Of IPv6 no neighbour is known, and nothing would go out: told before the start, not after."""
    without_bird(machine)
    machine.node.ip("-6", "route", "del", "default")
    shown = machine.setup("--write").out
    assert "give BIRD a session for IPv6: no neighbour is known, since no default route of IPv6 is there" in shown, shown
    assert "session for IPv4" not in shown


def test_a_node_whose_table_119_is_taken(machine):
    machine.node.ip(*"rule add pref 2000 lookup 119".split())
    assert machine.written()["routes"]["table"] == 219
    assert "define FINGERPOST_TABLE = 219;" in machine.lines.read_text()
    assert machine.failures() == []


def test_a_node_of_one_family(machine):
    node = machine.node
    without_bird(machine)
    node.ip("-6", "route", "del", "default")
    node.ip("-6", "address", "flush", "dev", "eth0")
    machine.lab.write("nodes.yaml", objects.node("node1", [node.address4]))
    machine.written()
    assert "neighbor 10.0.1.1 as" in machine.lines.read_text()
    assert "protocol bgp fingerpost_tor6" not in machine.lines.read_text()
    assert [item for item in machine.failures() if "_v6" not in item["found"]] == []


def test_a_gateway_that_only_the_link_knows_gets_no_session(machine):
    without_bird(machine)
    machine.node.ip("-6", "route", "replace", "default", "via", "fe80::1", "dev", "eth0")
    machine.written()
    assert "neighbor 10.0.1.1 as TOR_ASN" in machine.lines.read_text()
    assert "protocol bgp fingerpost_tor6" not in machine.lines.read_text()
    assert "neighbor fe80::1 % 'INTERFACE'" in machine.lines.read_text()


def test_what_bird_has_already_stays_and_tells_the_numbers(machine):
    """Sessions of the operator's, here with our tables, and a protocol device."""
    machine.written()
    lines = machine.lines.read_text()
    assert "define NODE_ASN = 64501;" in lines and "define TOR_ASN  = 64600;" in lines
    assert "session tor_v4 to 10.0.1.1 sends table fingerpost4 already" in lines
    assert "protocol bgp" not in lines and "protocol device" not in lines.replace("a protocol device", "")
    bird = machine.node.bird
    main = bird.folder / "node.conf"
    own = main.read_text()
    own = own[:own.index("define FINGERPOST_TABLE")] + own[own.index("protocol device"):]
    main.unlink()
    main.write_text(own.replace("table fingerpost4; ", "").replace("table fingerpost6; ", "")
                       .replace("export filter fingerpost_export", "export all"))
    assert "Reconfigur" in bird.birdc("configure")
    machine.written()
    lines = machine.lines.read_text()
    assert "BIRD has a session to 10.0.1.1, tor_v4. Give it this channel:\n#     ipv4 { table fingerpost4;" in lines


def test_nothing_is_written_unasked_and_differences_are_shown(machine):
    shown = machine.setup()
    assert shown.code == 0 and not machine.config.exists()
    assert '+ node: "node1"' in shown.out
    machine.written()
    text = machine.config.read_text()
    assert "same" in machine.setup().out
    machine.config.write_text(text.replace("119", "121"))
    shown = machine.setup().out
    assert "-   table: 121\n+   table: 119\n" in shown, shown
    assert "121" in machine.config.read_text()
    schema.check(json.loads(machine.setup("--json").out))
    machine.written()
    assert machine.config.read_text() == text
    assert "121" in machine.config.with_name("agentd.yaml.old").read_text()


def test_birds_lines_are_good_with_the_numbers(machine):
    without_bird(machine)
    shown = machine.setup("--write").out
    assert "fill in the AS numbers" in shown
    assert "#define TOR_ASN  = N;" in machine.lines.read_text()
    machine.setup("--write", "--asn=64501", "--peer-asn=64600")
    assert f"neighbor {machine.node.gateway6} as" in machine.lines.read_text()
    own = machine.config.with_name("bird.conf")
    own.write_text(f'include "{machine.lines}";\n')
    machine.node.run("bird", "-p", "-c", str(own))
    assert machine.setup("--asn=0").code == 64 and machine.setup("--asn=x").code == 64


def test_classes_are_the_operators(machine):
    machine.written()
    classes = machine.config.with_name("classes.conf")
    classes.write_text("function fingerpost_class() {}\n")
    machine.config.with_name("fingerpost.conf").write_text("older\n")
    shown = machine.setup()
    assert "fingerpost.conf: different (there of no release that it names, here of release 0.1.0)" in shown.out, shown
    assert "classes.conf: kept (there of no release that it names, here of release 0.1.0)" in shown.out, shown
    machine.written()
    assert "fingerpost.conf: same (of release 0.1.0)" in machine.setup().out
    [included] = [file for file in json.loads(machine.setup("--json").out)["files"] if file["path"].endswith("fingerpost.conf")]
    assert (included["state"], included["release"], included["releaseThere"]) == ("same", "0.1.0", "0.1.0")
    assert classes.read_text() == "function fingerpost_class() {}\n"
    assert "filter fingerpost_export" in machine.config.with_name("fingerpost.conf").read_text()
    assert machine.config.with_name("fingerpost.conf.old").read_text() == "older\n"
