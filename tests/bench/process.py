# SPDX-License-Identifier: Apache-2.0
"""What /proc says of a process: memory, processor time, wake-ups."""

import statistics
from pathlib import Path

GROWTH_TOLERATED = 1.05
GROWTH_TOLERATED_MIB = 0.1
# Of GLIBC_TUNABLES: without the lists of freed chunks that glibc keeps by size, and that fill for
# thousands of rounds.
NO_CACHES = "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"


def fields(pid, name):
    """A file of "Key:  value unit" lines."""
    lines = Path(f"/proc/{pid}/{name}").read_text(encoding="ascii", errors="replace").splitlines()
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {key: value.split() for key, value in pairs}


def mebibytes(values, key):
    return int(values[key][0]) / 1024


def memory(pid):
    """Resident memory: all, and what no file is behind, in MiB."""
    values = fields(pid, "smaps_rollup")
    return mebibytes(values, "Rss"), mebibytes(values, "Anonymous")


def is_flat(samples):
    """Of memory in MiB. The last quarter beside the second one: in the first, the heap still finds
    its size."""
    quarter = max(len(samples) // 4, 1)
    early = statistics.median(samples[quarter : 2 * quarter] or samples)
    late = statistics.median(samples[-quarter:])
    return late <= max(early * GROWTH_TOLERATED, early + GROWTH_TOLERATED_MIB)


def is_sanitized(pid):
    """True if freed memory is kept on purpose."""
    return "libasan" in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")


def peak(pid):
    return mebibytes(fields(pid, "status"), "VmHWM")


def activity(pid):
    """Ticks of processor time, the same in microseconds, and wake-ups, since the start."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    words = stat.rsplit(")", 1)[1].split()
    microseconds = wakeups = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        microseconds += int((task / "schedstat").read_text(encoding="ascii").split()[0]) / 1000
        status = fields(f"{pid}/task/{task.name}", "status")
        wakeups += int(status["voluntary_ctxt_switches"][0])
    return int(words[11]) + int(words[12]), microseconds, wakeups


def seconds(pid):
    """Processor time since the start."""
    return activity(pid)[1] / 1e6
