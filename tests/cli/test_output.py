# SPDX-License-Identifier: Apache-2.0
"""Forms of output: -o wide, json and name, columns, --brief, long lists."""

import copy
import json
import resource

import pytest

import asked_documents
import documents
import nat_documents
from documents import items, status


def header(output):
    return output.splitlines()[0].split()


def test_wide_adds_columns(ctl, agent):
    agent({"/v1/routes": items("RouteList", documents.ROUTES)})
    narrow, wide = header(ctl.run("routes")[1]), header(ctl.run("routes", "-o", "wide")[1])
    assert [title for title in wide if title in narrow] == narrow
    assert {"TABLE", "KIND", "GUARDED"} <= set(wide) - set(narrow)


@pytest.mark.parametrize("form", [["--json"], ["-o", "json"], ["-ojson"], ["--output=json"]])
def test_json_is_the_body_unchanged(ctl, agent, form):
    """Not even its white space; and what no parser would take passes through."""
    body = b'{"kind":"RouteList" ,\n "items" : [ 1e999, {"a":1,"a":2} ] }  \n'
    agent({"/v1/routes": (200, body)})
    assert ctl.run("routes", *form) == (0, body.decode(), "")


@pytest.mark.parametrize("verb", ["routes", "blocks", "services", "peers", "faults", "maps"])
def test_a_list_without_items_is_no_empty_list(ctl, agent, verb):
    agent({f"/v1/{verb}": {"kind": "Any"}})
    code, output, errors = ctl.run(verb)
    assert (code, output) == (2, "") and "is not the agent" in errors


def test_json_of_a_stranger_is_refused(ctl, agent):
    for body in (b"<html>", b"[1]", b"", b'{"kin":"d"}', b'{"kind"'):
        agent_of_body = agent({"/v1/routes": (200, body)})
        code, output, errors = ctl.run("routes", "--json")
        assert (code, output) == (2, "") and "is not the agent" in errors, body
        agent_of_body.__exit__()
        ctl.socket.unlink()


def test_names(ctl, agent):
    both = [documents.BLOCK, {**documents.BLOCK, "prefix": "fd00:1::/123"}]
    agent(
        {
            "/v1/routes": items("RouteList", documents.ROUTES),
            "/v1/services": items("ServiceList", [documents.SERVICE]),
            "/v1/blocks": items("BlockList", both),
        }
    )
    assert ctl.run("routes", "-o", "name") == (0, "10.224.0.0/27\n10.0.0.1/32\nfd00::2/128\n", "")
    assert ctl.run("services", "-o", "name") == (0, "default/web\n", "")
    assert ctl.run("blocks", "-o", "name") == (0, "default-0\n", "")


def test_a_name_can_be_explained(ctl, agent):
    block = {
        **asked_documents.EXPLANATION,
        "address": "10.224.0.0",
        "block": documents.BLOCK,
        "route": documents.ROUTES[0],
    }
    agent(
        {
            "/v1/explain?address=10.0.0.1": asked_documents.EXPLANATION,
            "/v1/explain?address=10.224.0.0": block,
        }
    )
    assert ctl.run("explain", "10.0.0.1/32") == ctl.run("explain", "10.0.0.1")
    assert ctl.run("explain", "10.224.0.0/27")[0] == 0
    assert ctl.run("explain", "10.224.0.0/26") == (
        4, "", "agentctl: no route has exactly the prefix 10.224.0.0/26\n"
    )


def test_columns(ctl, agent):
    agent({"/v1/routes": items("RouteList", documents.ROUTES)})
    assert ctl.run("routes", "-c", "installed,PREFIX,Held-For") == (
        0,
        "INSTALLED PREFIX        HELD FOR\n"
        "yes       10.224.0.0/27        -\n"
        "yes       10.0.0.1/32          -\n"
        "no        fd00::2/128          -\n"
        "\n"
        "3 routes, 2 announced.\n",
        "",
    )
    _, bare, _ = ctl.run("routes", "--columns=prefix", "--no-header")
    assert bare == "10.224.0.0/27\n10.0.0.1/32\nfd00::2/128\n"


@pytest.mark.parametrize(
    "health, code", [("healthy", 0), ("degraded", 1), ("starting", 1), ("failed", 2)]
)
def test_brief(ctl, agent, health, code):
    agent({"/v1/status": status(health=health)})
    assert ctl.run("status", "--brief") == (code, health + "\n", "")
    assert ctl.run("--brief", "--wait=60s") == (code, health + "\n", "")


def test_brief_without_an_agent(ctl):
    code, output, errors = ctl.run("status", "--brief")
    assert (code, output) == (3, "unreachable\n") and "cannot reach the agent" in errors


def many_routes(count):
    route = documents.ROUTES[1]
    return [
        {**route, "prefix": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}/32"} for i in range(count)
    ]


def processor_seconds():
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_sixty_thousand_routes(ctl, agent):
    """In 20 s of a processor each, with sanitizers; how long that takes is the machine's affair."""
    document = items("RouteList", many_routes(60000))
    body = (json.dumps(document) + "\n").encode()
    assert len(body) > 16 << 20
    agent({"/v1/routes": (200, body)})
    before = processor_seconds()
    code, output, errors = ctl.run("routes", "--timeout=140s", timeout=140)
    assert (code, errors) == (0, "") and processor_seconds() - before < 20
    assert output.endswith("\n60000 routes, 60000 announced.\n") and output.count("\n") == 60003
    before = processor_seconds()
    code, output, errors = ctl.run("routes", "--json", "--timeout=140s", timeout=140)
    assert (code, errors) == (0, "") and output == body.decode()
    assert processor_seconds() - before < 20


def test_long_differences_are_counted_without_parsing(ctl, agent):
    document = copy.deepcopy(documents.DIFF)
    document["items"] *= 1000
    for differences, code in ((1000, 1), (0, 0)):
        server = agent({"/v1/diff": {**document, "differences": differences}})
        assert ctl.run("diff", "--json")[0] == code
        server.__exit__()
        ctl.socket.unlink()


def test_explain_leaves_endpoints_out_unless_verbose(ctl, agent):
    document = copy.deepcopy(asked_documents.EXPLANATION)
    document["services"][0]["endpoints"] *= 10
    agent({"/v1/explain?address=10.0.0.1": document})
    short, full = ctl.run("explain", "10.0.0.1")[1], ctl.run("explain", "-v", "10.0.0.1")[1]
    assert "12 more (-v shows all)\n" in short and "more" not in full
    assert full.count("10.224.") == 20 and short.count("10.224.") == 8


def test_the_way_a_node_stands_is_in_the_headline(ctl, agent):
    drained = {"phase": "drained", "since": documents.ago(documents.LONG_AGO),
               "endsInMs": None, "nodeGone": True}
    server = agent({"/v1/status": status(standing=drained)})
    assert ctl.run()[1].startswith(
        "node-7 · agent 0.1.0 · up 3d 4h · healthy · its Node is gone · drained for 3d 4h\n"
    )
    drained = {**drained, "nodeGone": False, "reason": "a disk\x1b[2J"}
    server.replies["/v1/status"] = (200, status(standing=drained))
    assert "· healthy · drained for 3d 4h: a disk" in ctl.run()[1]


def test_what_identifies_a_row_goes_on_below(ctl, agent):
    flow = {**nat_documents.FLOWS[0], "client": "[2001:db8:1111:2222:3333:4444:5555:6666]:43122"}
    agent({"/v1/flows?limit=100": nat_documents.flows([flow])})
    code, output = ctl.on_terminal("flows", columns=60)
    lines = output.splitlines()
    assert code == 0 and max(map(len, lines)) <= 60
    at, end = lines[0].index("CLIENT"), lines[0].index("ADDRESS")
    assert "".join(line[at:end].strip() for line in lines[1:lines.index("")]) == flow["client"]
    assert "No room for:" in output and "IDLE" in output.partition("No room for:")[2]


def test_columns_that_were_asked_for_stay(ctl, agent):
    agent({"/v1/routes": items("RouteList", documents.ROUTES)})
    _, output = ctl.on_terminal("routes", "-c", "prefix,state,installed,protocol,reason", columns=40)
    assert "PREFIX" in output and "INSTALLED" in output and "PROTOCOL" in output
