# SPDX-License-Identifier: Apache-2.0
"""agent-cni install: both files whole at any moment, and nothing else touched."""

import json
import os
import subprocess

import pytest
from conftest import PLUGIN
from lab.agent import REPOSITORY

SHIPPED = REPOSITORY / "deploy" / "cni"
GOOD = {"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "agent-cni"}]}


def install(folder, *words, conflist=SHIPPED / "10-fingerpost.conflist", wrapper=()):
    return subprocess.run(
        [*wrapper, str(PLUGIN), "install", f"--bin-dir={folder}/opt/cni/bin", f"--conf-dir={folder}/etc/cni/net.d",
         f"--conflist={conflist}", *words], capture_output=True, text=True, timeout=60)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_bare_machine(tmp_path):
    done = install(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert files(tmp_path) == ["etc/cni/net.d/10-fingerpost.conflist", "opt/cni/bin/agent-cni"]
    plugin = tmp_path / "opt/cni/bin/agent-cni"
    assert plugin.read_bytes() == PLUGIN.read_bytes() and plugin.stat().st_mode & 0o7777 == 0o755
    conflist = tmp_path / "etc/cni/net.d/10-fingerpost.conflist"
    assert conflist.stat().st_mode & 0o7777 == 0o644
    done = subprocess.run([plugin], input="{}", capture_output=True, text=True, env={
        **os.environ, "CNI_COMMAND": "VERSION"}, timeout=60)
    assert "1.1.0" in done.stdout


def test_others_stay(tmp_path):
    (tmp_path / "opt/cni/bin").mkdir(parents=True)
    (tmp_path / "etc/cni/net.d").mkdir(parents=True)
    (tmp_path / "opt/cni/bin/agent-cni").write_text("old")
    (tmp_path / "opt/cni/bin/bridge").write_text("bridge")
    (tmp_path / "etc/cni/net.d/10-coil.conflist").write_text("coil")
    (tmp_path / "etc/cni/net.d/10-fingerpost.conflist").write_text("old")
    old = os.open(tmp_path / "etc/cni/net.d/10-fingerpost.conflist", os.O_RDONLY)
    for _ in range(2):
        assert install(tmp_path).returncode == 0
    assert os.read(old, 10) == b"old"  # who had it open reads on: it was replaced, not written over
    os.close(old)
    assert (tmp_path / "etc/cni/net.d/10-coil.conflist").read_text() == "coil"
    assert (tmp_path / "opt/cni/bin/bridge").read_text() == "bridge"
    assert len(files(tmp_path)) == 4


BAD = (
    ("", "empty"), ("{", "conflist:1:"), ("[]", "cniVersion"), (json.dumps({**GOOD, "cniVersion": "0.2.0"}), "0.2.0"),
    (json.dumps({**GOOD, "name": ""}), "no name"), (json.dumps({**GOOD, "plugins": [{"type": "coil"}]}), "agent-cni"),
    (json.dumps({**GOOD, "plugins": {}}), "agent-cni"), (" " * (2 << 20), "too large"),
)


@pytest.mark.parametrize("conflist, said", BAD, ids=[said for _, said in BAD])
def test_a_list_that_can_not_work(tmp_path, conflist, said):
    (tmp_path / "10-x.conflist").write_text(conflist)
    done = install(tmp_path / "root", conflist=tmp_path / "10-x.conflist")
    assert done.returncode == 1 and said in done.stderr and done.stderr.count("\n") == 2
    assert not (tmp_path / "root").exists()


def test_folders_that_can_not_be(tmp_path):
    (tmp_path / "opt").write_text("a file")
    done = install(tmp_path)
    assert done.returncode == 1 and "opt/cni/bin" in done.stderr
    assert files(tmp_path) == ["opt"]


@pytest.mark.parametrize("call", ("write", "fsync", "rename", "fchmod"))
def test_a_step_that_fails(tmp_path, call):
    """The old files are whole, or the new ones, and nothing lies beside them."""
    for count in range(1, 20):
        folder = tmp_path / str(count)
        assert install(folder).returncode == 0
        (folder / "opt/cni/bin/agent-cni").write_text("old")
        wrapper = ("env", "ASAN_OPTIONS=detect_leaks=0", "strace", "-f", "-qq", "-o", str(tmp_path / "strace"), "-e",
                   f"trace={call}", "-e", f"inject={call}:error=ENOSPC:when={count}")
        done = install(folder, wrapper=wrapper)
        assert files(folder) == ["etc/cni/net.d/10-fingerpost.conflist", "opt/cni/bin/agent-cni"]
        plugin = (folder / "opt/cni/bin/agent-cni").read_bytes()
        assert plugin in (b"old", PLUGIN.read_bytes())
        if "INJECTED" not in (tmp_path / "strace").read_text():
            assert done.returncode == 0 and count > 1
            break
        assert done.returncode == 1
    else:
        pytest.fail("it never came to its end")


@pytest.mark.parametrize("path", sorted(SHIPPED.iterdir()), ids=lambda path: path.name)
def test_what_is_shipped_can_be_installed(tmp_path, path):
    assert install(tmp_path, conflist=path).returncode == 0


@pytest.mark.parametrize("line, folder", [
    ('    bin_dir = "/opt/lib/cni"', "opt/lib/cni"), ("  bin_dirs = ['/opt/one', '/opt/cni/bin']", "opt/one"),
    ('  # bin_dir = "/opt/other"', "opt/cni/bin"), (None, "opt/cni/bin")])
def test_where_the_runtime_looks(tmp_path, line, folder):
    """Without --bin-dir it goes where containerd looks, as doctor does: Debian's looks in /usr/lib/cni."""
    for name in ("etc/containerd", "opt"):
        (tmp_path / name).mkdir(parents=True)
    if line:
        (tmp_path / "etc/containerd/config.toml").write_text(f"[plugins.cri.cni]\n{line}\n")
    words = f"{PLUGIN} install --conf-dir={tmp_path}/net.d --conflist={SHIPPED}/10-fingerpost.conflist"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec",
         f"mount --bind {tmp_path}/opt /opt; mount --bind {tmp_path}/etc /etc; exec {words}"],
        capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / folder / "agent-cni").exists()
