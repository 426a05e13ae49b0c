# SPDX-License-Identifier: Apache-2.0
"""Input that nobody should send: each is a fault that names its place, the last good content stays
in force, nothing else is affected, and memory does not grow.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess

import pytest
from cluster import VIP, VIP6, announced_by, exported, start, tables, write_service
from lab import agent as agent_module
from lab import wait, wait_equal
from lab.wall_clock import WallClock

pytestmark = pytest.mark.lab(nodes=1)

CAP = 64 * 1024
SETTINGS = {"source": {"maxFileSize": f"{CAP // 1024}KiB"}}
OTHER = "203.0.113.11"


def added(lines, named=1):
    """Behind the good content; which of the lines the fault shall name, the first is 1."""
    return lambda good: ((good + "---\n" + lines).encode(), good.count("\n") + 1 + named)


def with_nul(good):
    return good.encode().replace(b"name: web", b"name: w\0b", 1), line_of(good, "name: web")


def with_tab(good):
    bad = good.replace("spec:\n  ", "spec:\n\t", 1)
    return bad.encode(), line_of(bad, "\t")


def twice_the_key(good):
    bad = good.replace("  name: web\n", "  name: web\n  name: web\n", 1)
    return bad.encode(), line_of(bad, "  name: web\n") + 1


def twice_the_object(good):
    first = good.split("---\n")[0]
    return (good + "---\n" + first).encode(), good.count("\n") + 2


def line_of(text, word):
    return text[: text.index(word)].count("\n") + 1


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi")
)

# name: from the good content to the bad one and the line that the fault names (None: the file)
CONTENTS = {
    "tab": with_tab,
    "alias bomb": added(BOMB, 5),  # the line whose aliases stand for 9^5 parts
    "20,000 nested lists": added("[" * 20000 + "]" * 20000 + "\n"),
    "20,000 nested lists, open": added("[" * 20000),
    "20,000 nested maps": added("".join("{a: " for _ in range(8000)) + "\n"),
    "above the cap": lambda good: ((good + "#" * CAP).encode(), None),
    "NUL": with_nul,
    "invalid UTF-8": lambda good: (
        good.encode() + b"---\na: \xff\xfe\n", good.count("\n") + 2
    ),
    "a tag": added("a: !!python/object:os.system x\n"),
    "a key twice": twice_the_key,
    "an object twice": twice_the_object,
    "UTF-16": lambda good: (good.encode("utf-16"), 1),
    "truncated": lambda good: (
        (good + "---\napiVersion: v1\nkind: {\n").encode(), good.count("\n") + 4  # at its end
    ),
}


def replace_by(make):
    """Puts what `make` makes in the place of a file, as nearly at once as can be."""

    def put(path):
        draft = path.with_name(f".{path.name}.odd")
        make(draft)
        if draft.is_dir() and not draft.is_symlink():
            path.unlink()
        os.rename(draft, path)

    return put


def bind_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


# name: what stands in the file's place, and a word of the fault
ODD_FILES = {
    "a loop of links": (replace_by(lambda path: path.symlink_to("web.yaml")), "circle"),
    "a link to nowhere": (replace_by(lambda path: path.symlink_to("/nowhere")), "nowhere"),
    "a folder": (replace_by(lambda path: path.mkdir()), "folder"),
    "a named pipe": (replace_by(os.mkfifo), "named pipe"),
    "a socket": (replace_by(bind_socket), "socket"),
    "a device": (replace_by(lambda path: path.symlink_to("/dev/zero")), "device"),
}


def remove(path):
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()


def faults_of(agent, file):
    return [fault for fault in agent.faults() if fault["place"].split(":")[0] == file]


def others_of(agent, file):
    return [fault for fault in agent.faults() if fault["place"].split(":")[0] != file]


def check_fault(agent, node, line, word=""):
    """web.yaml's fault is there, names the line, and is the only one; the routes are as they were."""
    found = wait(lambda: faults_of(agent, "web.yaml"), "a fault that names the file")
    assert word in found[0]["message"], found
    if line:
        assert found[0]["place"].split(":")[:2] == ["web.yaml", str(line)], found
    assert others_of(agent, "web.yaml") == []
    assert agent.json("status")["sources"][0]["brokenFiles"] == 1
    assert tables(node) == exported(node, VIP, VIP6, OTHER)


def start_with_other(lab, **overrides):
    agents = start(lab, **overrides)
    write_service(lab, "other", [OTHER], {node: True for node in lab.nodes})
    announced_by(lab, *lab.nodes, addresses=[OTHER])
    return agents


def test_contents_that_are_refused(lab):
    [agent] = start_with_other(lab, **SETTINGS)
    [node] = lab.nodes
    monitor = lab.monitor()
    good = (lab.manifests / "web.yaml").read_text()
    for name, breakage in CONTENTS.items():
        print(name)
        broken, line = breakage(good)
        lab.write_text("web.yaml", broken)
        check_fault(agent, node, line)
        lab.write_text("web.yaml", good)
        wait(lambda: not agent.faults(), f"the fault to go ({name})")
    assert agent.settled()["health"] == "healthy"
    assert monitor.losses() == []


def test_files_that_are_none(lab):
    [agent] = start_with_other(lab)
    [node] = lab.nodes
    monitor = lab.monitor()
    path = lab.manifests / "web.yaml"
    good = path.read_text()
    for name, (put, word) in ODD_FILES.items():
        print(name)
        put(path)
        check_fault(agent, node, None, word)
        # Something new is read all the same: nothing waits for a pipe's other end.
        write_service(lab, "more", ["203.0.113.12"], {node: True})
        announced_by(lab, node, addresses=["203.0.113.12"])
        (lab.manifests / "more.yaml").unlink()
        announced_by(lab, addresses=["203.0.113.12"])
        with contextlib.suppress(FileNotFoundError):
            remove(path)
        lab.write_text("web.yaml", good)
        wait(lambda: not agent.faults(), f"the fault to go ({name})")
        monitor_losses = [loss for loss in monitor.losses() if "203.0.113.12" not in str(loss)]
        assert monitor_losses == [], name


def test_one_object_in_two_files(lab):
    """The file first by name counts; the other one takes over when it goes."""
    [agent] = start(lab)
    [node] = lab.nodes
    text = (lab.manifests / "web.yaml").read_text()
    lab.write_text("a.yaml", text.replace(VIP, OTHER))

    def duplicates():
        return [f for f in agent.faults() if "web" in f["message"] + f["place"]]

    found = wait(duplicates, "the duplicates' fault")
    said = " ".join(f["place"] + " " + f["message"] for f in found)
    assert "a.yaml" in said and "web.yaml" in said, found
    announced_by(lab, node, addresses=[OTHER])
    announced_by(lab, addresses=[VIP])
    assert tables(node) == exported(node, VIP6, OTHER)

    (lab.manifests / "a.yaml").unlink()
    announced_by(lab, node, addresses=[VIP])
    wait_equal(lambda: tables(node), exported(node, VIP, VIP6), "table 119")
    wait(lambda: not agent.faults(), "the fault to go")

    # One that comes behind changes nothing.
    monitor = lab.monitor()
    lab.write_text("z.yaml", text.replace(VIP, OTHER))
    wait(duplicates, "the duplicates' fault")
    assert tables(node) == exported(node, VIP, VIP6)
    assert monitor.losses() == []


def test_a_folder_that_vanishes_and_returns(lab):
    [agent] = start(lab)
    [node] = lab.nodes
    monitor = lab.monitor()
    away = lab.manifests.with_name("away")
    for gone in (lambda: os.rename(lab.manifests, away),
                 lambda: (shutil.copytree(lab.manifests, away), shutil.rmtree(lab.manifests))):
        gone()
        [fault] = wait(agent.faults, "a fault")
        assert fault["place"] == str(lab.manifests) and "missing" in fault["message"]
        assert tables(node) == exported(node, VIP, VIP6)
        os.rename(away, lab.manifests)
        wait(lambda: not agent.faults(), "the fault to go")
        write_service(lab, "other", [OTHER], {node: True})
        announced_by(lab, node, addresses=[OTHER])
        (lab.manifests / "other.yaml").unlink()
        announced_by(lab, addresses=[OTHER])
    lost = [loss for loss in monitor.losses() if OTHER not in str(loss)]
    assert lost == []


@contextlib.contextmanager
def small_disk(path):
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(disk):
    with open(disk / "ballast", "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)


def test_a_full_disk(lab):
    """Kept state and run time on a full disk: what needs no disk goes on, what does says so."""
    [node] = lab.nodes
    with small_disk(lab.folder / "disk") as disk:
        paths = {"run": str(disk / "run"), "state": str(disk / "state")}
        quick = {"drain": {"shutdown": "100ms", "withdraw": "100ms"}}
        [agent] = start(lab, paths=paths, routes={**quick, "holdDown": {"initial": "0s"}})
        agent.socket = disk / "run" / "agentd.sock"
        monitor = lab.monitor()
        fill(disk)
        write_service(lab, "other", [OTHER], {node: True})
        announced_by(lab, node, addresses=[OTHER])
        answer = agent.ctl("drain")
        assert answer.code != 0 and "No space left" in answer.out + answer.err, answer
        assert agent.json("status")["standing"]["phase"] == "serving"
        assert tables(node) == exported(node, VIP, VIP6, OTHER)

        # It starts on it, too.
        agent.kill()
        agent.start()
        assert tables(node) == exported(node, VIP, VIP6, OTHER)
        wait(lambda: agent.settled()["health"] == "degraded", "the full disk to be told")
        assert monitor.losses() == []
        (disk / "ballast").unlink()
        wait(lambda: agent.settled()["health"] == "healthy", "health")
        assert agent.ctl("drain").code == 0
        assert agent.ctl("undrain").code == 0
        wait_equal(lambda: tables(node), exported(node, VIP, VIP6, OTHER), "table 119")
        agent.stop()


def test_a_log_that_takes_nothing(lab):
    [node] = lab.nodes
    agent = lab.agent(node, start=False)
    agent.log.unlink(missing_ok=True)
    agent.log.symlink_to("/dev/full")
    lab.write_nodes()
    write_service(lab, "web", [VIP, VIP6], {node: True})
    agent.start()
    announced_by(lab, node)
    lab.write_text("web.yaml", "a: [\n")
    wait(lambda: faults_of(agent, "web.yaml"), "a fault")
    assert tables(node) == exported(node, VIP, VIP6)
    agent.process.send_signal(signal.SIGTERM)
    assert agent.wait_exit() == 0
    agent.log.unlink()
    agent.log.touch()


def test_a_clock_that_jumps(lab):
    """Days ahead and back: nothing is withdrawn, changes are read, hold-down lasts what it shall."""
    [node] = lab.nodes
    clock = WallClock(node)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in clock.environment.items():
            patch.setitem(node.environment, name, value)
        agent = lab.agent(node, routes={"holdDown": {"initial": "1s", "max": "2s"}})
    lab.write_nodes()
    write_service(lab, "web", [VIP, VIP6], {node: True})
    announced_by(lab, node)
    monitor = lab.monitor()
    started = agent.json("status")["startedAt"][:10]
    wanted = [VIP, VIP6]
    for number, days in enumerate((400, -400, 4000, 0)):
        clock.set(days)
        address = f"203.0.113.{20 + number}"
        write_service(lab, f"service{number}", [address], {node: True})
        announced_by(lab, node, addresses=[address])
        wanted.append(address)
        lab.write_text("broken.yaml", f"a: [\n# {number}\n")
        [fault] = wait(lambda: faults_of(agent, "broken.yaml"), "a fault")
        if days:
            assert fault["since"][:10] != started, "the clock did not jump for the agent"
        (lab.manifests / "broken.yaml").unlink()
        wait(lambda: not agent.faults(), "the fault to go")
        wait_equal(lambda: tables(node), exported(node, *wanted), "table 119")

    # Held down when the clock jumps: it comes back all the same.
    assert monitor.losses() == []
    write_service(lab, "web", [VIP, VIP6], {node: False})
    announced_by(lab)
    clock.set(-400)
    write_service(lab, "web", [VIP, VIP6], {node: True})
    announced_by(lab, node)


def resident(agent):
    """KiB of memory that the agent holds."""
    with open(f"/proc/{agent.process.pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Rss:"))


def test_memory_stays_flat(lab, monkeypatch):
    """200 broken files later the agent is as large as it was."""
    sanitizer = agent_module.SANITIZERS["ASAN_OPTIONS"]
    monkeypatch.setitem(agent_module.SANITIZERS, "ASAN_OPTIONS",
                        f"{sanitizer}:quarantine_size_mb=0:thread_local_quarantine_size_kb=0")
    [agent] = start_with_other(lab, **SETTINGS)
    [node] = lab.nodes
    good = (lab.manifests / "web.yaml").read_text()
    broken = [breakage(good)[0] for breakage in CONTENTS.values()]

    def repeat(count):
        for number in range(count):
            lab.write_text("web.yaml", broken[number % len(broken)])
            wait(lambda: '"brokenFiles":1' in agent.get("/v1/status").replace(" ", ""), "a fault")
            lab.write_text("web.yaml", good)
            wait(lambda: '"brokenFiles":0' in agent.get("/v1/status").replace(" ", ""), "no fault")

    repeat(60)
    before = resident(agent)
    repeat(200)
    after = resident(agent)
    print(f"{before} KiB before, {after} KiB after")
    assert after - before < 1024
    assert tables(node) == exported(node, VIP, VIP6, OTHER)
