# SPDX-License-Identifier: Apache-2.0
"""What only another kernel, or systemd as PID 1, can show: in a qemu guest; see run.

FINGERPOST_VM_KERNELS says which kernels, "6.1 6.12" by default. The mark of a test is the guest that
it needs; which guests each kernel gets in tools/test is said by suites.py.
"""

import ast
import os
import re
import shutil
import subprocess

import pytest
from guests import HERE, KERNELS, NOT_THERE, RUN, guest, judge, prepare, pytest_in, release, run

SYSTEMD, SERVICES = HERE / "guest_systemd.py", HERE / "guest_services.py"
REBOOT = HERE / "guest_reboot.py"
TIMEOUT, BROKEN = 124, 125

pytestmark = pytest.mark.timeout(1800)


def cases(path):
    """The tests of a file that runs inside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in functions if name.startswith("test_")]


@pytest.fixture(name="kernel", scope="module", params=KERNELS)
def kernel_fixture(request):
    return prepare(request.param)


@pytest.fixture(name="installed", scope="session")
def installed_fixture(tmp_path_factory):
    """The program as it is installed."""
    root = tmp_path_factory.mktemp("installed")
    run("meson", "install", "-C", str(release()), "--no-rebuild", "--destdir", str(root))
    return root


def inside(kernel, installed, path, folder, *words, **environment):
    """What became of the tests inside."""
    return pytest_in(
        kernel, folder, [str(path), "--noconftest", *words], ["-s", "-t", "1500"],
        FINGERPOST_INSTALLED=str(installed), **environment,
    )


@pytest.fixture(name="systemd", scope="module")
def systemd_fixture(kernel, installed, tmp_path_factory):
    return inside(kernel, installed, SYSTEMD, tmp_path_factory.mktemp("guest"))


@pytest.fixture(name="services", scope="module")
def services_fixture(kernel, installed, tmp_path_factory):
    return inside(kernel, installed, SERVICES, tmp_path_factory.mktemp("guest"))


@pytest.mark.guest_reboot
def test_a_node_boots_while_the_api_is_away(kernel, installed, tmp_path):
    """FINGERPOST_API_AWAY says for how many seconds, 60 by default."""
    for boot, count in (("first", 1), ("second", 2)):
        results = inside(kernel, installed, REBOOT, tmp_path, "-k", f"{boot}_boot",
                         FINGERPOST_KEPT=str(tmp_path))
        assert len(results) == count
        for case in results:
            judge(results, case)


@pytest.mark.guest_systemd
@pytest.mark.parametrize("case", cases(SYSTEMD))
def test_systemd(systemd, case):
    judge(systemd, f"{SYSTEMD.stem}::{case}")


@pytest.mark.guest_services
@pytest.mark.parametrize("case", cases(SERVICES))
def test_services(services, case):
    judge(services, f"{SERVICES.stem}::{case}")


@pytest.mark.guest_boot
def test_a_guest_runs_that_kernel(kernel):
    done = guest(kernel, "uname", "-r")
    assert done.returncode == 0 and done.stdout.startswith(kernel), done


def emulator(folder, *lines):
    """The environment in which a few lines of shell stand for qemu."""
    path = folder / "qemu-system-x86_64"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def streams_and_status(kernel, *options, **environment):
    done = guest(*options, kernel, "sh", "-c", "echo out; echo err >&2; exit 7", **environment)
    errors = [line for line in done.stderr.splitlines() if not line.startswith("vm: ")]
    assert (done.returncode, done.stdout, errors) == (7, "out\n", ["err"]), done
    return done


@pytest.mark.guest_runner
def test_streams_and_status_come_through(kernel):
    streams_and_status(kernel)


@pytest.mark.guest_runner
def test_they_do_so_after_a_boot_that_stood_still(kernel, tmp_path):
    """In an emulator that can't even be asked to end."""
    stood, real = tmp_path / "stood", shutil.which("qemu-system-x86_64")
    done = streams_and_status(kernel, "-b", "10", **emulator(
        tmp_path, f"[ -e {stood} ] || {{ touch {stood}; trap '' TERM; exec sleep 1000; }}", f'exec {real} "$@"'))
    assert "stood still for 10 s in its boot (attempt 1 of 3)" in done.stderr, done


@pytest.mark.guest_runner
def test_only_shared_folders_are_written(kernel, tmp_path):
    done = guest("-w", str(tmp_path), kernel, "sh", "-c", f"echo a >{tmp_path}/kept && echo b >{HERE}/lost")
    assert done.returncode == 0, done
    assert (tmp_path / "kept").read_text() == "a\n" and not (HERE / "lost").exists()


@pytest.mark.guest_runner
def test_a_guest_that_takes_too_long_is_stopped(kernel):
    assert guest("-t", "10", kernel, "sleep", "1000").returncode == TIMEOUT


@pytest.mark.guest_runner
def test_a_guest_that_does_not_boot_is_started_again(kernel):
    """One that stood still half way through its boot once cost the whole limit."""
    done = guest("-b", "0", kernel, "true")
    attempts = re.findall(r"stood still for 0 s in its boot \(attempt (\d) of 3\)", done.stderr)
    assert (done.returncode, attempts) == (BROKEN, ["1", "2", "3"]), done
    assert all(line.startswith("vm: ") for line in done.stderr.splitlines()), done
    assert done.stderr.endswith("vm: the guest stood still for 0 s in its boot three times\n")


@pytest.mark.guest_runner
def test_a_guest_that_boots_slowly_is_waited_for(tmp_path):
    """As long as its kernel says something."""
    done = guest("-b", "4", "6.1", "true", **emulator(
        tmp_path,
        "console=$(echo \"$@\" | grep -o 'path=[^ ]*/console') && console=${console#path=}",
        'for second in 1 2 3 4 5 6; do echo "booting" >>"$console"; sleep 1; done',
        'echo "vm: hands over" >>"$console"',
        'echo 9 >"${console%console}status"'))
    assert (done.returncode, done.stderr) == (9, ""), done


@pytest.mark.guest_runner
def test_a_guest_that_dies_of_the_emulator_is_started_again(kernel, tmp_path):
    """As its kernel says that it died; the command is run anew."""
    died = tmp_path / "died"
    script = (f"[ ! -e {died} ] || exit 7; touch {died}; echo 'int3: 0000 [#1]' >/dev/kmsg;"
              "echo c >/proc/sysrq-trigger; sleep 1000")
    done = guest("-w", str(tmp_path), kernel, "sh", "-c", script)
    assert done.returncode == 7 and "stale breakpoint (attempt 1 of 3)" in done.stderr, done


@pytest.mark.guest_runner
def test_a_guest_that_breaks_is_told_from_a_command_that_fails(kernel):
    done = guest(kernel, "sh", "-c", "echo c >/proc/sysrq-trigger; sleep 1000")
    assert done.returncode == BROKEN and "sysrq triggered crash" in done.stderr, done


@pytest.mark.guest_runner
def test_a_signal_ends_the_guest(kernel, tmp_path):
    command = [str(RUN), "-w", str(tmp_path), kernel, "sh", "-c", "echo up; sleep 1000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "up\n"
        run.terminate()
        assert run.wait(60) == 143
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert [line for line in listed.splitlines() if re.search(rf"^qemu.*{tmp_path}", line)] == []


@pytest.mark.guest_runner
def test_what_cannot_be_fetched_is_said(tmp_path):
    """An apt without sources stands for a machine without a network."""
    (tmp_path / "apt-get").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "apt-get").chmod(0o755)
    done = guest(
        "--prepare", "6.1", XDG_CACHE_HOME=str(tmp_path), PATH=f"{tmp_path}:{os.environ['PATH']}"
    )
    assert done.returncode == NOT_THERE
    assert "kernel 6.1 cannot be had" in done.stderr
