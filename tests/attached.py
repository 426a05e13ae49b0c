# SPDX-License-Identifier: Apache-2.0
"""What stands on a node's interfaces, and taking it away, as someone does who knows no better."""

import ctypes
import json
import os
import sys
from pathlib import Path

from lab.agent import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tests" / "bpf"))

from bpf import OBJECT_INFO, InfoAttributes, call, open_pinned, u32  # noqa: E402


class LinkInfo(ctypes.Structure):
    """The head of struct bpf_link_info, and what it says of a TCX link."""

    _fields_ = [("type", u32), ("id", u32), ("program", u32), ("pad", u32), ("ifindex", u32),
                ("attach_type", u32), ("rest", u32 * 16)]


def pins(agent, layer="links"):
    """The links that the agent pinned: by (index of the interface, direction). `layer`: or "egress-links"."""
    folder = Path(agent.settings["paths"]["bpf"], layer)
    return {
        (int(path.name.split("-")[0]), path.name.split("-")[1]): path
        for path in (folder.iterdir() if folder.is_dir() else ())
    }


def link_info(path):
    """Closed again: a link that somebody has open stays attached without its pin."""
    info = LinkInfo()
    link = open_pinned(path)
    attributes = InfoAttributes(fd=link, length=ctypes.sizeof(info))
    attributes.point("info", info)
    try:
        call(OBJECT_INFO, attributes)
    finally:
        os.close(link)
    return info


def filters(node):
    """Programs that are attached as classic filters: by (interface, direction), their ids."""
    said = json.loads(node.run("bpftool", "-j", "net", "show").stdout)[0]
    return {(item["devname"], item["kind"].split("/")[-1]): item["id"] for item in said["tc"]
            if "clsact" in item["kind"]}


def programs(agent, layer="links"):
    """The ids of the programs on the node's interfaces, by (interface, direction)."""
    names = {link["ifindex"]: link["ifname"] for link in agent.node.ip_json("link")}
    found = filters(agent.node)
    for (index, direction), path in pins(agent, layer).items():
        info = link_info(path)
        if info.ifindex:  # a link whose interface has gone, or that was detached, has none
            found[names[index], direction] = info.program
    return found


def attachments(agent, layer="links"):
    return set(programs(agent, layer))


def strip(agent, device, layer="links"):
    """Takes our programs off an interface, however they are attached. Links are told by their pins:
    those of other network namespaces may have the same index."""
    [link] = agent.node.ip_json("link", "show", device)
    for (index, _), path in pins(agent, layer).items():
        if index == link["ifindex"]:
            agent.node.run("bpftool", "link", "detach", "pinned", str(path))
    agent.node.run("tc", "qdisc", "del", "dev", device, "clsact", check=False)
