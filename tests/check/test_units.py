# SPDX-License-Identifier: Apache-2.0
"""What deploy/ gives to systemd: it parses, it is as tight as promised, and it agrees with the code."""

import json
import re
import stat
import subprocess
from pathlib import Path

import pytest
from lab.agent import REPOSITORY, build_folder

DEPLOY = REPOSITORY / "deploy"
AGENT = REPOSITORY / "agent"
MAX_EXPOSURE = 20  # 2.0, as systemd-analyze counts it
EVENT = re.compile(r'^EVENT\((\w+), \w+, "(.*)"\);$', re.MULTILINE)
ENTRY = re.compile(r"^-- (.*)$", re.MULTILINE)


@pytest.fixture(name="units")
def units_fixture(tmp_path):
    """The units as they are installed, with a program where they say."""
    for program in ("agentd", "agent-controller"):
        (tmp_path / program).write_text("#!/bin/true\n")
        (tmp_path / program).chmod(0o755)
    for template in (DEPLOY / "systemd").iterdir():
        text = template.read_text(encoding="utf-8").replace("@sbindir@", str(tmp_path))
        (tmp_path / template.name).write_text(text)
    return tmp_path


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def verify(*units):
    # Our manual pages are not installed here; test_documentation_is_ours looks at them.
    done = run("systemd-analyze", "verify", "--man=no", *map(str, units))
    return done.returncode, done.stdout + done.stderr


def exposure(unit, threshold=MAX_EXPOSURE):
    return run(
        "systemd-analyze", "security", "--offline=yes", "--no-pager", f"--threshold={threshold}",
        str(unit),
    )


def test_units_are_valid(units):
    assert verify(*units.glob("*.service"), *units.glob("*.socket"),
                  *units.glob("*.timer")) == (0, "")


def test_no_core_has_secrets(units):
    """Of each service that has credentials."""
    for name in ("agentd.service", "agent-controller.service"):
        assert re.findall(r"^LimitCORE=(.*)$", (units / name).read_text(encoding="utf-8"), re.MULTILINE) == ["0"], name


@pytest.mark.parametrize("name", ["agentd.service", "agent-controller.service"])
def test_a_reload_needs_no_package_more(units, name):
    """A minimal Debian has no /bin/kill (procps); its shell is there, and knows the signal."""
    [command] = re.findall(r"^ExecReload=(.*)$", (units / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert command == "/bin/sh -c 'kill -HUP $MAINPID'"


def test_documentation_is_ours():
    pages = {path.stem for path in (REPOSITORY / "docs" / "man").glob("*.scd")}
    for unit in (DEPLOY / "systemd").glob("agent*"):  # the rest are drop-ins of theirs
        [line] = re.findall(r"^Documentation=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
        named = re.findall(r"man:([\w.-]+)\((\d)\)", line)
        assert named and {f"{name}.{section}" for name, section in named} <= pages, unit


def test_all_that_is_to_be_deployed_is_installed():
    done = run("meson", "introspect", "--installed", str(build_folder()))
    sources = {Path(path).resolve() for path in json.loads(done.stdout)}
    names = {path.name for path in sources}
    for folder in (DEPLOY, REPOSITORY / "birdconf"):
        for path in folder.rglob("*"):
            if path.is_relative_to(DEPLOY / "debian"):
                continue  # of the package itself: tools/deb
            if path.is_file() and path.name != "meson.build":
                # Units are made from templates, which have the same names.
                assert path in sources or (path.suffix == ".service" and path.name in names), path


def test_an_invalid_unit_is_found(units):
    unit = units / "agentd.service"
    unit.write_text(unit.read_text().replace("ProtectHome=", "ProtectHouse="))
    assert "ProtectHouse" in verify(unit)[1]


@pytest.mark.parametrize("name", ["agentd.service", "agentd-deadman.service", "agentd-gone-pods.service",
                                  "agent-controller.service"])
def test_services_are_confined(units, name):
    done = exposure(units / name)
    assert done.returncode == 0, done.stdout


def test_claimed_addresses_cost_little(units):
    """The drop-in adds to what the unit has, as systemd reads it behind the unit."""
    unit = units / "agentd.service"
    more = (DEPLOY / "systemd" / "claim-addresses.conf").read_text(encoding="utf-8")
    assert "CAP_NET_RAW" not in unit.read_text()
    unit.write_text(unit.read_text() + more)
    done = exposure(unit, 23)
    assert done.returncode == 0, done.stdout


def test_a_loose_service_is_found(units):
    unit = units / "agentd.service"
    unit.write_text(re.sub("CapabilityBoundingSet=.*\n", "", unit.read_text()))
    assert exposure(unit).returncode != 0


def test_the_exit_status_of_a_broken_configuration_is_the_units():
    mains = [(AGENT / room / "main.c").read_text(encoding="utf-8") for room in ("agentd", "controller")]
    [status] = {found for main in mains for found in re.findall(r"EXIT_CONFIG = (\d+)", main)}
    for unit in (DEPLOY / "systemd").glob("*.service"):
        if "@sbindir@" not in unit.read_text(encoding="utf-8"):
            continue  # no agent of ours
        assert f"\nRestartPreventExitStatus={status}\n" in unit.read_text(encoding="utf-8")


def test_files_for_sysusers_and_tmpfiles_are_valid(tmp_path):
    (tmp_path / "etc").mkdir()
    users, files = DEPLOY / "sysusers.d/fingerpost.conf", DEPLOY / "tmpfiles.d/fingerpost.conf"
    done = run("systemd-sysusers", f"--root={tmp_path}", str(users))
    assert done.returncode == 0, done.stderr
    assert "\nfingerpost:" in "\n" + (tmp_path / "etc/passwd").read_text()
    assert re.search(r"^bird:.*:fingerpost$", (tmp_path / "etc/group").read_text(), re.MULTILINE)
    done = run("systemd-tmpfiles", "--create", f"--root={tmp_path}", str(files))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "etc/fingerpost/manifests").is_dir()
    assert stat.S_IMODE((tmp_path / "sys/fs/bpf/fingerpost").stat().st_mode) == 0o700


def test_the_folder_for_pins_is_the_same_everywhere():
    """By default of paths.bpf; made by tmpfiles, and writable for the service."""
    default = re.search(r'OURS_PINS +"(.*)"', (AGENT / "base/ours.h").read_text())[1]
    assert f"\nd- {default} 0700 " in (DEPLOY / "tmpfiles.d/fingerpost.conf").read_text()
    assert f"\nReadWritePaths=-{default}\n" in (DEPLOY / "systemd/agentd.service").read_text()


def gone_pods(bpf, kubelet):
    """Does what the unit does, with these folders in place of the node's."""
    text = (DEPLOY / "systemd/agentd-gone-pods.service").read_text(encoding="utf-8")
    [script] = re.findall(r"^ExecStart=/bin/sh -ec '(.*?)'$", text, re.MULTILINE | re.DOTALL)
    for place, folder in (("/sys/fs/bpf/fingerpost-pods", bpf), ("/var/lib/kubelet", kubelet)):
        assert place in script
        script = script.replace(place, str(folder))
    return run("/bin/sh", "-ec", re.sub(r"\\\n *", "", script).replace("$$", "$"))


def test_pins_of_pods_that_are_gone_are_removed(tmp_path):
    """Those of pods that the kubelet has stay; so does what is no pod's."""
    subprocess.run(["mount", "-t", "bpf", "bpf", tmp_path], check=True)
    try:
        kubelet, bpf = tmp_path.parent / "kubelet", tmp_path / "fingerpost-pods"
        lives, gone = "0a1b2c3d-0000-4000-8000-000000000001", "0a1b2c3d-0000-4000-8000-000000000002"
        (kubelet / "pods" / lives).mkdir(parents=True)
        assert gone_pods(tmp_path, kubelet).returncode == 0  # there is none yet
        for name in (lives, gone):
            (bpf / name / "egress-gateway").mkdir(parents=True)
            pin(bpf / name / "egress-gateway" / "flows")
        done = gone_pods(bpf, kubelet)
        assert (done.returncode, done.stderr) == (0, "") and gone in done.stdout
        assert [path.name for path in bpf.iterdir()] == [lives]
        assert (bpf / lives / "egress-gateway" / "flows").exists()
        assert gone_pods(bpf, kubelet).stdout == ""
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def pin(path):
    """A map of the kernel's under this name."""
    subprocess.run(["/usr/sbin/bpftool", "map", "create", path, "type", "array", "key", "4", "value",
                    "4", "entries", "1", "name", "pinned"], check=True)


def test_sysctls_are_advice():
    lines = (DEPLOY / "sysctl.d/60-fingerpost.conf").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == []
    for setting in (line for line in lines if re.match(r"#\S+ = ", line)):
        assert re.fullmatch(r"#net\.[a-z0-9_.]+ = \d+", setting)


def test_the_setting_that_nat_needs_is_the_one_it_asks_for():
    lines = (DEPLOY / "sysctl.d/61-fingerpost-services.conf").read_text("utf-8").splitlines()
    [setting] = [line for line in lines if line and not line.startswith("#")]
    name, value = setting.split(" = ")
    asked = (AGENT / "faults/nat.def").read_text(encoding="utf-8")
    assert value == "1" and f"sysctl -w {name}=1 (61-fingerpost-services.conf" in asked


def events():
    text = (AGENT / "base" / "event.h").read_text(encoding="utf-8")
    return dict(EVENT.findall(text))


def catalog():
    return (DEPLOY / "catalog" / "fingerpost.catalog").read_text(encoding="utf-8")


def test_every_event_has_its_entry_in_the_catalog():
    ids = list(events().values())
    assert ids and all(re.fullmatch(r"[0-9a-f]{32}", event) for event in ids)
    assert len(set(ids)) == len(ids)
    assert sorted(ENTRY.findall(catalog())) == sorted(ids)


def test_every_event_happens():
    code = "".join(p.read_text(encoding="utf-8") for p in AGENT.rglob("*.c"))
    assert [name for name in events() if f"&event_{name}" not in code] == []


def test_the_catalog_speaks_of_fields_that_exist():
    code = "".join(p.read_text(encoding="utf-8") for p in AGENT.rglob("*.c"))
    logged = set(re.findall(r'\{ "([A-Z]+)", ', code))
    assert set(re.findall(r"@([A-Z_]+)@", catalog())) <= logged


def test_journalctl_reads_the_catalog(tmp_path):
    folder = tmp_path / "usr/lib/systemd/catalog"
    folder.mkdir(parents=True)
    (tmp_path / "var/lib/systemd/catalog").mkdir(parents=True)
    (folder / "fingerpost.catalog").write_text(catalog())
    done = run("journalctl", f"--root={tmp_path}", "--update-catalog")
    assert (done.returncode, done.stderr) == (0, "")
    listed = run("journalctl", f"--root={tmp_path}", "--list-catalog").stdout.splitlines()
    assert sorted(line.split()[0] for line in listed) == sorted(events().values())
