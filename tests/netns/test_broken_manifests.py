# SPDX-License-Identifier: Apache-2.0
"""Broken manifests: a fault with file and line, the last good content in force."""

import pytest
from cluster import VIP, VIP6, announced_by, exported, start, tables, write_service
from lab import wait, wait_equal

pytestmark = pytest.mark.lab(nodes=1)


def line_of(text, word):
    return text[: text.index(word)].count("\n") + 1


def truncated(text):
    """Cut in the last line: what is missing is missing after it."""
    broken = text + "---\napiVersion: v1\nkind: Service\nmetadata: {name: x"
    return broken.encode(), len(broken.splitlines()) + 1


def bad_port(text):
    broken = text.replace("port: 80", "port: 70000", 1)
    return broken.encode(), line_of(broken, "70000")


def bad_utf8(text):
    return text.encode().replace(b"name: web", b"name: w\xff\xfeb", 1), line_of(text, "name: web")


@pytest.mark.parametrize("breakage", [truncated, bad_port, bad_utf8])
def test_the_last_good_content_stays_in_force(lab, breakage):
    [agent] = start(lab)
    [node] = lab.nodes
    monitor = lab.monitor()
    file = lab.manifests / "web.yaml"
    good = file.read_text()
    broken, line = breakage(good)
    lab.write_text("web.yaml", broken)

    def fault():
        return [f for f in agent.faults() if f["place"].startswith("web.yaml:")]

    [found] = wait(fault, "a fault that names the file")[:1]
    place = found["place"].split(":")
    assert int(place[1]) == line, found
    assert found["message"] and found["since"]
    status = agent.ctl("status")
    assert status.code == 1
    assert "web.yaml:" in status.out
    assert "web.yaml:" in agent.ctl("faults").out
    document = agent.json("status")
    assert document["health"] == "degraded"
    assert document["sources"][0]["brokenFiles"] == 1

    # Others go on, and the broken file's addresses stay.
    write_service(lab, "other", ["203.0.113.11"], {node: True})
    announced_by(lab, node, addresses=["203.0.113.11"])
    assert tables(node) == exported(node, VIP, VIP6, "203.0.113.11")
    assert monitor.losses() == []

    lab.write_text("web.yaml", good)
    wait(lambda: not agent.faults(), "the fault to go")
    assert agent.settled()["health"] == "healthy"
    assert monitor.losses() == []


def test_a_file_that_is_broken_from_the_start_harms_no_other(lab):
    [node] = lab.nodes
    lab.write_text("broken.json", '{"apiVersion": "v1",\n "kind": "Service",,}\n')
    lab.write_nodes()
    write_service(lab, "web", [VIP], {node: True})
    agent = lab.agent(node)
    announced_by(lab, node, addresses=[VIP])
    [fault] = agent.faults()
    assert fault["place"].startswith("broken.json:2:")
    assert agent.ctl("status").code == 1
    (lab.manifests / "broken.json").unlink()
    wait(lambda: not agent.faults(), "the fault to go")


def test_other_kinds_are_counted_and_ignored(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    lab.write("more.yaml",
              {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}},
              {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}})

    def source():
        return agent.json("status")["sources"][0]

    wait_equal(lambda: source()["ignoredObjects"], 2, "two ignored objects")
    assert agent.settled()["health"] == "healthy"
    assert tables(node) == exported(node, VIP, VIP6)
    assert source()["objects"]["Service"] == 1


def test_a_start_beside_a_broken_file_withdraws_only_what_is_known(lab):
    """What the broken file said is known to nobody: its address stays. The others follow on."""
    [agent] = start(lab)
    [node] = lab.nodes
    write_service(lab, "other", ["203.0.113.11"], {node: True})
    write_service(lab, "gone", ["203.0.113.12"], {node: True})
    everything = (VIP, VIP6, "203.0.113.11", "203.0.113.12")
    wait_equal(lambda: tables(node), exported(node, *everything), "table 119")
    good = (lab.manifests / "web.yaml").read_text()
    agent.kill()
    lab.write_text("web.yaml", good[: len(good) // 2] + "\n{")
    write_service(lab, "other", ["203.0.113.11"], {node: False})
    agent.start()
    kept = (VIP, VIP6, "203.0.113.12")
    wait_equal(lambda: tables(node), exported(node, *kept), "table 119 without what is unready")
    assert any("are kept" in fault["message"] for fault in agent.faults())

    # Known by now, so that its deletion is one.
    (lab.manifests / "gone.yaml").unlink()
    wait_equal(lambda: tables(node), exported(node, VIP, VIP6), "table 119 without what is gone")
    (lab.manifests / "web.yaml").unlink()
    wait_equal(lambda: tables(node), exported(node), "table 119 with blocks only")
    assert agent.settled()["health"] == "healthy"
