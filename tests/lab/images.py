# SPDX-License-Identifier: Apache-2.0
"""Container images without a registry: archives as `docker save` makes them, which ctr imports.

The lab's image holds programs of this folder, linked statically: /pause, /web and /echo.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

from .agent import build_folder, program
from .traffic import HERE, tool

IMAGE = "fingerpost.lab/pods:1"
AGENT = "fingerpost.lab/agent:1"
PAUSE = "fingerpost.lab/pause:1"  # the same under the name of every pod's first container


def add(archive, name, data, mode=0o644):
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode
    archive.addfile(member, io.BytesIO(data))


def layer_of(files, links=()):
    """A layer of files (path in the image: file here) and symbolic links (path: target), all
    executable."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, source in sorted(dict(files).items()):
            add(archive, name.lstrip("/"), Path(source).read_bytes(), 0o755)
        for name, target in sorted(dict(links).items()):
            member = tarfile.TarInfo(name.lstrip("/"))
            member.type, member.linkname, member.mode = tarfile.SYMTYPE, target, 0o777
            archive.addfile(member)
    return data.getvalue()


def write_archive(path, layer, tags, entrypoint):
    """One layer under these tags. What reads it while it is written sees none of it."""
    config = json.dumps({
        "architecture": "amd64", "os": "linux",
        "config": {"Entrypoint": entrypoint, "Env": ["PATH=/usr/bin:/bin:/"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": list(tags), "Layers": ["layer.tar"]}]
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as draft:
        with tarfile.open(fileobj=draft, mode="w") as archive:
            add(archive, config_name, config)
            add(archive, "layer.tar", layer)
            add(archive, "manifest.json", json.dumps(manifest).encode())
    os.replace(draft.name, path)
    return path


def lab_image():
    """The archive of the lab's own image, made when first needed or when its programs changed."""
    path = build_folder() / "lab" / "pods.tar"
    programs = {"/pause": tool("container", static=True), "/echo": tool("echo", static=True)}
    sources = [HERE / "container.c", HERE / "echo.c", Path(__file__)]
    if not path.exists() or path.stat().st_mtime < max(s.stat().st_mtime for s in sources):
        write_archive(path, layer_of(programs, {"/web": "pause"}), (IMAGE, PAUSE), ["/pause"])
    return path


def libraries_of(path):
    """What the dynamic linker loads for a program, and the linker."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=True)
    return re.findall(r"(/\S+) \(0x", done.stdout)


def agent_image():
    """agentd and agentctl of the build under test with their libraries, and a shell."""
    path = build_folder() / "lab" / "agent.tar"
    programs = {f"/usr/bin/{name}": program(name) for name in ("agentd", "agentctl")}
    files = {**programs, "/bin/busybox": "/bin/busybox"}
    for each in programs.values():
        files.update((library, library) for library in libraries_of(each))
    layer = layer_of(files, {"/bin/sh": "busybox"})
    return write_archive(path, layer, [AGENT], ["/usr/bin/agentd"])
