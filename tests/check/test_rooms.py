# SPDX-License-Identifier: Apache-2.0
"""The rooms of agent/ include only what docs/architecture.md lets them include.

Which files are part of the program is taken from what the build recorded (`ninja -t deps`); each
of them is then asked what it includes itself. Run after a build; FINGERPOST_BUILD names it.
"""

import re
import subprocess
from pathlib import Path

import pytest
from lab.agent import REPOSITORY, build_folder

AGENT = REPOSITORY / "agent"

# The table of docs/architecture.md; room: (rooms and single headers of rooms, libraries). Every room may include itself and libc.
ALLOWED = {
    "base": ((), ()),
    "faults": (("base",), ()),
    "format": (("base", "faults"), ("json-c", "libyaml")),
    "loop": (("base",), ("libsystemd", "libcurl", "libmicrohttpd")),
    "config": (("base", "faults", "format"), ()),
    "model": (("base", "faults", "format"), ()),
    "store": (("base", "faults", "format", "model"), ()),
    "client": (("base", "faults", "format", "loop"), ("libcurl", "libsystemd")),
    "source": (
        ("base", "faults", "format", "loop", "client", "model", "store", "status"), ("libsystemd", "libcurl")
    ),
    "plan": (
        ("base", "faults", "format", "config", "model", "store", "bpf/abi.h", "bpf/flow_abi.h"), ("kernel",)
    ),
    "detect": (("base", "faults", "config", "model", "store", "plan", "status"), ()),
    "pools": (("base", "faults", "format", "config", "model", "store", "plan", "status"), ()),
    "standing": (("base", "faults", "format", "loop", "config", "plan", "status"), ("libsystemd",)),
    "apply": (
        (
            "base", "faults", "loop", "status", "detect/facts.h", "plan/routes/route_table.h", "plan/nat/nat_table.h",
            "plan/link_table.h", "plan/egress/egress_table.h", "plan/claims/kept_table.h", "plan/firewall/opening_table.h",
            "bpf/abi.h", "bpf/flow_abi.h",
            "bpf/egress_abi.h",
            "bpf/nat.skel.h", "bpf/egress_client.skel.h", "bpf/egress_gateway.skel.h",
            "bpf/passage.skel.h",
        ),
        ("libmnl", "libsystemd", "libbpf", "kernel"),
    ),
    "bpf": ((), ("libbpf", "kernel")),
    "status": (("base", "faults", "bpf/abi.h", "bpf/flow_abi.h", "bpf/egress_abi.h"), ()),
    "engine": (
        ("base", "faults", "loop", "config", "model", "store", "plan", "detect", "apply", "status"),
        ("libsystemd",),
    ),
    "health": (("base", "faults", "config", "loop", "model", "status", "plan"), ("libsystemd",)),
    "bgp": (("base", "faults", "config", "client", "plan", "detect", "status"), ("libsystemd",)),
    "report": (
        ("base", "faults", "format", "loop", "config", "model", "store", "client", "plan", "status"), ("libsystemd",)
    ),
    "segment": (
        (
            "base", "faults", "format", "loop", "config", "model", "store", "client", "plan", "status", "apply/segment/kept.h",
            "apply/segment/segment_frame.h", "apply/segment/segment_socket.h", "apply/settings.h", "apply/netlink/neighbour.h",
            "apply/netlink/nl.h",
        ),
        ("libsystemd", "kernel"),
    ),
    # It prints what store and plan hold, so it sees the values they are made of.
    "api": (
        ("base", "faults", "format", "loop", "status", "store", "plan", "pools", "config", "model"),
        ("libsystemd",),
    ),
    "agentd": (
        (
            "base", "faults", "format", "loop", "config", "model", "store", "client", "source", "plan",
            "pools", "standing", "apply", "status", "engine", "health", "bgp", "report", "segment",
            "api",
        ),
        ("libsystemd",),
    ),
    "controller": (
        (
            "base", "faults", "format", "loop", "config", "model", "store", "client", "source", "plan",
            "pools", "status", "api",
        ),
        ("libsystemd",),
    ),
    # What a check looks at, it reads as the agent does.
    "doctor": (
        (
            "base", "faults/fault_type.h", "config", "client", "model", "store", "plan", "detect", "status/bird_status.h", "bgp/bgp_peer.h", "apply/mirror/kernel.h", "apply/host_facts.h", "apply/firewall/firewall.h",
            "apply/firewall/inlet.h", "apply/netlink/nl.h", "apply/netlink/genl.h",
            "apply/netlink/neighbour.h", "apply/segment/segment_socket.h", "apply/segment/segment_frame.h",
            "source/conflicts.h", "source/manifest.h", "bpf/abi.h", "bpf/egress_abi.h",
        ),
        ("libsystemd", "libmnl", "kernel"),
    ),
    # api/view.h: its offline verbs print the same documents as the API. apply/cleanup.h: `cleanup`
    # works without a daemon.
    "agentctl": (
        (
            "base", "faults", "format", "config", "client", "doctor", "source/conflicts.h", "source/manifest.h",
            "store/give.h", "plan", "api/view.h", "apply/cleanup.h",
        ),
        (),
    ),
    # It lives for one question of a container runtime, so it links little: no libcurl, no loop.
    "cni": (
        (
            "base", "format", "apply/netlink/link.h", "apply/netlink/address.h", "apply/netlink/neighbour.h",
            "apply/netlink/route.h", "apply/netlink/netns.h", "apply/netlink/nl.h",
        ),
        ("kernel",),
    ),
}

LIBRARIES = {
    "json-c/": "json-c",
    "yaml.h": "libyaml",
    "systemd/": "libsystemd",
    "curl/": "libcurl",
    "microhttpd.h": "libmicrohttpd",
    "libmnl/": "libmnl",
    "linux/": "kernel",
    "bpf/bpf": "libbpf",
    "bpf/libbpf": "libbpf",
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def recorded_files(build, agent):
    """The files below agent/ that the build's compilers read."""
    done = subprocess.run(
        ["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True
    )
    files = set()
    for line in done.stdout.splitlines():
        if line.startswith(" "):
            path = (Path(build) / line.strip()).resolve()
            if path.is_relative_to(agent):
                files.add(path)
    return sorted(files)


def refusal(room, bracket, target):
    """Why a room may not include a header; None if it may."""
    rooms, libraries = ALLOWED[room]
    if bracket == "<":
        for prefix, library in LIBRARIES.items():
            if target.startswith(prefix) and library not in libraries:
                return f"{room}/ does not use {library}"
        return None
    if "/" not in target:
        return "project headers are included by room: \"room/name.h\""
    if target.split("/")[0] == room or target.split("/")[0] in rooms or target in rooms:
        return None
    return f"{room}/ may not include {target}"


def violations(files, agent):
    """Every include among the files that the table does not allow, as "file:line: reason"."""
    found = []
    for path in files:
        name = path.relative_to(agent)
        room = name.parts[0]
        if room not in ALLOWED:
            found.append(f"{name}:1: {room}/ is not in the table of rooms")
            continue
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            why = refusal(room, match[1], match[2])
            if why:
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{name}:{line}: {why}")
    return found


# How the table of the documentation calls what it does not call by its name here.
SHORT = {
    "plan/routes/route_table.h": "plan's table headers", "plan/nat/nat_table.h": "plan's table headers",
    "plan/link_table.h": "plan's table headers", "plan/egress/egress_table.h": "plan's table headers",
    "plan/nat/nat_health.h": "plan's table headers", "plan/claims/kept_table.h": "plan's table headers",
    "plan/firewall/opening_table.h": "plan's table headers",
    "libsystemd": "sd-event", "kernel": "kernel headers",
}


def test_the_documentation_has_the_same_table():
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)/` \|.*\| (.*) \|$", text, re.MULTILINE))
    assert rows.pop("agentd") == "any room but the other programs, sd-event"
    assert {room: set(cell.replace("`", "").split(", ")) for room, cell in rows.items()} == {
        room: {SHORT.get(name, name) for name in rooms + libraries} or {"libc"}
        for room, (rooms, libraries) in ALLOWED.items() if room != "agentd"
    }


def test_no_room_includes_what_it_must_not():
    files = recorded_files(build_folder(), AGENT)
    assert files, f"nothing is built in {build_folder()}"
    assert violations(files, AGENT) == []


def test_every_source_is_part_of_the_build():
    files = set(recorded_files(build_folder(), AGENT))
    assert [str(path) for path in AGENT.rglob("*.c") if path.resolve() not in files] == []


@pytest.mark.parametrize(
    "room, include, reason",
    [
        ("base", '"plan/routes/routes.h"', "base/ may not include plan/routes/routes.h"),
        ("plan", '"apply/mirror/kernel.h"', "plan/ may not include apply/mirror/kernel.h"),
        ("apply", '"plan/routes/routes.h"', "apply/ may not include plan/routes/routes.h"),
        ("apply", '"plan/routes/route_table.h"', None),
        ("agentctl", '"api/view.h"', None),
        ("agentctl", '"api/api.h"', "agentctl/ may not include api/api.h"),
        ("agentd", '"agentctl/verbs/verbs.h"', "agentd/ may not include agentctl/verbs/verbs.h"),
        ("model", "<json-c/json.h>", "model/ does not use json-c"),
        ("format", "<json-c/json.h>", None),
        ("plan", "<libmnl/libmnl.h>", "plan/ does not use libmnl"),
        ("base", "<stdio.h>", None),
        ("model", '"service.h"', 'project headers are included by room: "room/name.h"'),
    ],
)
def test_a_forbidden_include_is_found_in_what_a_build_recorded(tmp_path, room, include, reason):
    """A build of one file, by the real ninja and compiler, with that include in a header."""
    agent = tmp_path / "agent"
    target = include.strip('<">')
    (agent / room).mkdir(parents=True)
    header = agent / (target if "/" in target and include[0] == '"' else f"{room}/{target}")
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text("")
    (agent / room / "shown.h").write_text(f"\n#include {include}\n")
    (agent / room / "main.c").write_text(f'#include "{room}/shown.h"\n')
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "build.ninja").write_text(
        "rule cc\n"
        f"  command = gcc -I{agent} -I{agent}/{room} -I/usr/include/json-c"
        " -MD -MF $out.d -c $in -o $out\n"
        "  deps = gcc\n"
        "  depfile = $out.d\n"
        f"build main.o: cc {agent}/{room}/main.c\n"
    )
    subprocess.run(["ninja", "-C", str(tmp_path / "build")], check=True, capture_output=True)
    found = violations(recorded_files(tmp_path / "build", agent), agent)
    assert found == ([f"{room}/shown.h:2: {reason}"] if reason else [])


def test_generated_files_are_known_by_the_names_they_are_made_under():
    """By an absolute name, ninja would take one for a file that nobody makes, and whoever includes it
    would be compiled again only by the build after the next."""
    build = build_folder()
    done = subprocess.run(
        ["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True
    )
    names = {line.strip() for line in done.stdout.splitlines() if line.startswith(" ")}
    assert "agent/bpf/nat.skel.h" in names
    assert not [name for name in names if Path(name).is_absolute() and
                Path(name).is_relative_to(build)]


def test_the_daemon_is_no_more_than_its_parts():
    """What a part does has a room of its own; agentd/ opens, configures, asks and closes."""
    lines = sum(len(path.read_text(encoding="utf-8").splitlines())
                for path in (AGENT / "agentd").iterdir() if path.suffix in (".c", ".h"))
    assert lines < 2600
