# SPDX-License-Identifier: Apache-2.0
"""Takes a lab down, whatever happens to its owner.

Each lab has a small process of its own, the reaper, that holds one end of a pipe. When the owner
closes the other end, or dies of anything at all, the reaper kills the lab's processes and removes
its namespaces and files. That is the only way a lab goes away.

A lab's processes carry LAB_MARK=<label> in their environment: this, and no list of process ids,
tells which processes are the lab's. A child that was forked but has not yet become another
program still holds the pipe open, so no process is missed.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

if __package__:
    from .wait import wait
else:
    from wait import wait

ROOT = Path("/run")  # of the labs' folders; a folder shared by labs would be one to quarrel over
GROUPS = Path("/sys/fs/cgroup")
TASKS = "kubelet/containerd/state/io.containerd.runtime.v2.task/k8s.io"  # of a node: a folder for each container
LAB_MARK = "FINGERPOST_LAB"
PYTHON = "/usr/bin/python3"


def marked_processes(label):
    mark = f"{LAB_MARK}={label}".encode()
    pids = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                pids.append(int(entry.name))
        except OSError:
            continue  # gone meanwhile
    return pids


def namespaces(label):
    folder = Path("/run/netns")
    if not folder.is_dir():
        return []
    return sorted(entry.name for entry in folder.iterdir() if entry.name.startswith(label + "-"))


def none_left(label):
    pids = marked_processes(label)
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return not pids


def mounts(label):
    """What is mounted in the lab's folder, the last one first."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    places = [line.split()[1] for line in lines]
    return [place for place in reversed(places) if place.startswith(f"{ROOT / label}/")]


def groups_of(container):
    """The control groups of a container, in hierarchies of version 1 and 2."""
    return [path for root in (GROUPS, *GROUPS.glob("*/")) for path in root.glob(f"k8s.io/{container}")]


def without_groups(label):
    """Removes the control groups of containers, by what containerd knew of; true when there are none.
    One whose last process has just ended is busy for a moment, which is an OSError."""
    for container in (ROOT / label).glob(f"*/{TASKS}/*"):
        for path in groups_of(container.name):
            path.rmdir()
    return True


def remove(label):
    """Removes everything that a lab may have left. Does nothing where there is nothing."""
    wait(lambda: none_left(label), f"end of the processes of {label}")
    wait(lambda: without_groups(label), f"end of the control groups of {label}")
    for name in namespaces(label):
        subprocess.run(["ip", "netns", "del", name], check=True)
    for place in mounts(label):
        subprocess.run(["umount", "--lazy", place], check=True)
    shutil.rmtree(ROOT / label, ignore_errors=True)


class Claim:
    """The right to use a label. Leftovers of an earlier lab of that label are removed first."""

    def __init__(self, label):
        self.lock = socket.socket(socket.AF_UNIX)
        # An abstract name is freed by the kernel with its last holder: owner or reaper.
        wait(lambda: self._bind(label), f"the other lab that is called {label} to end")
        remove(label)
        pipe, self.pipe = os.pipe()
        environment = {key: value for key, value in os.environ.items() if key != LAB_MARK}
        self.process = subprocess.Popen(
            [PYTHON, "-S", "-E", __file__, label],
            stdin=pipe,
            pass_fds=[self.lock.fileno()],
            start_new_session=True,
            env=environment,
        )
        os.close(pipe)

    def _bind(self, label):
        self.lock.bind(f"\0fingerpost-lab/{label}")
        return True

    def keep(self):
        """Gives up the claim; the lab stays."""
        os.write(self.pipe, b"keep")
        self.release()

    def release(self):
        """Takes the lab down and returns when it is gone."""
        os.close(self.pipe)
        self.process.wait()
        self.lock.close()


def main():
    label = sys.argv[1]
    if not sys.stdin.buffer.read():
        remove(label)


if __name__ == "__main__":
    main()
