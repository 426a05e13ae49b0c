# SPDX-License-Identifier: Apache-2.0
"""Service NAT as an operator runs it: agentd as the installed unit, confined and without root. Runs
inside the guest, which test_vm.py boots; see installed.py.

The guest is the node, with a pod and an outside client in network namespaces. From the first test on
a client keeps one connection and opens new ones, and nothing may hurt it but where a test says so.
"""

import contextlib
import json
import platform
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from installed import (  # noqa: E402, F401 # some are fixtures
    BLOCK,
    MANIFESTS,
    NODE,
    ROUTES,
    ctl,
    install,
    main_pid,
    monitor_fixture,
    routes,
    run,
    send,
    show,
    state,
    status,
    systemctl,
    untouched_fixture,
    upgrade,
    wait,
)
from lab.namespace import Namespace  # noqa: E402

VIP, CLUSTER_IP, NODE_IP, NODE_PORT = "198.51.100.1", "10.96.0.1", "10.0.0.2", 30080
PINS = Path("/sys/fs/bpf/fingerpost")
MAPS = "[0-9]*/*"  # in a folder named by their layout
DROP_IN = Path("/run/systemd/system/agentd.service.d/test.conf")
CAPABLE_OF_TCX = (6, 6)

CONFIG = f"""\
node: {NODE}
source: {{manifests: {MANIFESTS}}}
services:
  enabled: true
  uplinks: [uplink0]
  podInterfaces: [vethpod]
  serviceCIDRs: [10.96.0.0/16]
"""
SERVICE = f"""\
apiVersion: v1
kind: Service
metadata: {{name: web, namespace: default}}
spec:
  type: LoadBalancer
  clusterIP: {CLUSTER_IP}
  clusterIPs: [{CLUSTER_IP}]
  ipFamilies: [IPv4]
  externalTrafficPolicy: Cluster
  internalTrafficPolicy: Cluster
  ports: [{{name: echo, port: 80, protocol: TCP, targetPort: 8080, nodePort: {NODE_PORT}}}]
status: {{loadBalancer: {{ingress: [{{ip: {VIP}, ipMode: VIP}}]}}}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: web-a, namespace: default, labels: {{kubernetes.io/service-name: web}}}}
addressType: IPv4
ports: [{{name: echo, port: 8080, protocol: TCP}}]
endpoints: [{{addresses: [10.224.0.2], conditions: {{ready: true}}, nodeName: {NODE}}}]
"""


class Host:
    """The guest itself, where Namespace is asked to be entered."""

    entered = contextlib.nullcontext


def echo(connection):
    with connection, contextlib.suppress(OSError):
        while data := connection.recv(4096):
            connection.sendall(data)


def serve(namespace):
    """An echo server; a thread each for it and for its connections."""
    with namespace.entered():
        listener = socket.create_server(("", 8080))

    def accept():
        while True:
            threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def connect(host, address, port=80):
    with host.entered():
        connection = socket.socket()
    connection.settimeout(20)
    try:
        connection.connect((address, port))
    except OSError:
        connection.close()
        raise
    return connection


def exchange(connection):
    """Five bytes there and back."""
    connection.sendall(b"hello")
    answer = b""
    while len(answer) < 5:
        assert (more := connection.recv(5)), "closed by the other side"
        answer += more
    assert answer == b"hello"


def reaches(host, address, port=80):
    with connect(host, address, port) as connection:
        exchange(connection)
    return True


class Traffic:
    """A client that does not stop: one connection for ever, and short ones after each other."""

    def __init__(self, host):
        self.host, self.count, self.errors, self.over = host, 0, [], threading.Event()
        self.connection = connect(host, VIP)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.over.is_set():
            try:
                exchange(self.connection)
                reaches(self.host, VIP)
            except (OSError, AssertionError) as error:
                self.errors.append(f"after {self.count}: {error!r}")
            self.count += 1
            time.sleep(0.05)

    def unhurt(self):
        """No error so far, and packets still get through."""
        count = self.count
        wait(lambda: self.count > count + 2, "more traffic")
        assert self.errors == []

    def stop(self):
        self.over.set()
        self.thread.join()
        self.connection.close()


def make_network():
    """The pod and its server, and the client outside; both reach the node, which forwards."""
    run("/lib/systemd/systemd-sysctl", "/usr/lib/sysctl.d/61-fingerpost-services.conf")
    for name in ("net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"):
        Path("/proc/sys", name).write_text("1")
    pod, outside = (Namespace("vm", role, Path("/run")) for role in ("pod", "outside"))
    for namespace in (pod, outside):
        namespace.create(forwarding=False)
    for words in (
        f"link add vethpod type veth peer name eth0 netns {pod.name}",
        "link set vethpod up",
        "route add 10.224.0.2 dev vethpod",
        f"link add uplink0 type veth peer name eth0 netns {outside.name}",
        f"addr add {NODE_IP}/24 dev uplink0",
        "link set uplink0 up",
        "route add default via 10.0.0.1",
    ):
        run("ip", *words.split())
    pod.configure("addr add 10.224.0.2/32 dev eth0", "link set eth0 up",
                  f"route add default via {NODE_IP} dev eth0 onlink")
    outside.configure("addr add 10.0.0.1/24 dev eth0", "link set eth0 up",
                      f"route add {VIP} via {NODE_IP}")
    serve(pod)
    return {"pod": pod, "outside": outside, "host": Host}


@pytest.fixture(scope="module", autouse=True)
def world():
    install(CONFIG, web=SERVICE, block=BLOCK)
    return make_network()


@pytest.fixture(name="traffic", scope="module")
def traffic_fixture(world):
    traffic = Traffic(world["outside"])
    yield traffic
    traffic.stop()


@pytest.fixture(name="unhurt")
def unhurt_fixture(traffic, untouched):
    """Neither traffic nor the routes notice anything of the test, and the maps stay the same."""
    before = map_ids()
    yield
    traffic.unhurt()
    assert map_ids() == before and in_order()


def map_ids():
    """The kernel's numbers of what is pinned: a map made anew would have another."""
    pins = sorted(PINS.glob(MAPS))
    assert len(pins) > 10
    return {
        pin.name: json.loads(run("/usr/sbin/bpftool", "-j", "map", "show", "pinned", str(pin)).stdout)["id"]
        for pin in pins
    }


def method():
    """What this kernel should make of it."""
    version = tuple(map(int, platform.release().split(".")[:2]))
    return "tcx" if version >= CAPABLE_OF_TCX else "clsact"


def attached():
    """(interface, direction) of every program of ours, as the kernel tells."""
    if method() == "tcx":
        names = {str(index): name for index, name in socket.if_nameindex()}
        places = (pin.name.split("-") for pin in PINS.glob("links/*"))
        return sorted((names[index], direction) for index, direction in places)
    return sorted(
        (name, direction)
        for _, name in socket.if_nameindex()
        for direction in ("ingress", "egress")
        if "fingerpost" in run("tc", "filter", "show", "dev", name, direction).stdout
    )


PLACES = sorted([("lo", "egress"), ("svc0", "egress")] + [
    (name, direction) for name in ("uplink0", "vethpod") for direction in ("ingress", "egress")
])


def faults():
    return [f"{fault['place']}: {fault['message']}" for fault in status()["faults"]]


def in_order():
    """What a start is followed by, sooner or later."""
    wait(lambda: faults() == [], "the end of all faults")
    return attached() == PLACES


def test_start_returns_when_it_serves(world):
    """Attached, filled, proved and announced: the first packet gets through."""
    systemctl("start", "agentd")
    assert (state(), routes()) == ("active", ROUTES)
    assert reaches(world["outside"], VIP)
    assert faults() == [] and attached() == PLACES


def test_everybody_reaches_the_service(world):
    for client in ("outside", "pod", "host"):
        assert reaches(world[client], NODE_IP, NODE_PORT), client
    for client in ("pod", "host"):
        assert reaches(world[client], CLUSTER_IP), client
        assert reaches(world[client], VIP), client


def test_status_says_how_it_is_attached():
    assert status()["nat"]["method"] == method()
    assert method() in ctl("status").stdout


def test_what_is_pinned_is_the_agents_own():
    found = run("stat", "-c", "%n %U %G %a", "/sys/fs/bpf", str(PINS)).stdout.splitlines()
    assert found == ["/sys/fs/bpf root fingerpost 1710", f"{PINS} fingerpost fingerpost 700"]
    assert {(pin.owner(), pin.stat().st_mode & 0o777) for pin in PINS.glob(MAPS)} == {
        ("fingerpost", 0o600)
    }
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    assert run(*nobody, "ls", str(PINS), check=False).returncode != 0


def test_the_rest_of_sys_is_read_only():
    for path in ("/sys/fs/bpf", "/proc/sys/net"):
        as_agent = ["nsenter", f"--mount=/proc/{main_pid()}/ns/mnt"]
        assert run(*as_agent, "findmnt", "-no", "OPTIONS", "-T", path).stdout.startswith("ro,"), path


def test_there_is_room_for_the_maps():
    """They are counted in the unit's memory."""
    used, limit = (int(show(name)) for name in ("MemoryCurrent", "MemoryMax"))
    print(f"{used >> 20} of {limit >> 20} MiB")
    assert 64 << 20 < used < limit / 4


def test_stopped_it_goes_on_and_an_upgrade_takes_over(unhurt, traffic):
    systemctl("stop", "agentd.socket", "agentd.service")
    traffic.unhurt()
    upgrade()


def test_kill(unhurt):
    before = send(signal.SIGKILL)
    wait(lambda: main_pid() not in (0, before) and state() == "active", "the next agent")
    assert ctl("status", "--wait=120s").returncode == 0
    # The maps stay with the control group that was theirs, which lives on in the slice's sum.
    assert int(show("MemoryCurrent")) < 64 << 20


def without(settings):
    """Restarts the agent without a right; what it says of it."""
    DROP_IN.parent.mkdir(exist_ok=True)
    DROP_IN.write_text(f"[Service]\n{settings}\n")
    systemctl("daemon-reload")
    systemctl("restart", "agentd")
    assert state() == "active" and ROUTES[0] in routes()
    [fault] = [fault for fault in status()["faults"] if fault["group"] == "nat"]
    return fault


def test_without_the_capability():
    fault = without("AmbientCapabilities=\nAmbientCapabilities=CAP_NET_ADMIN")
    assert fault["place"] == "service NAT" and "CAP_BPF" in fault["remedy"], fault


def test_without_the_system_call():
    fault = without("SystemCallFilter=~bpf")
    assert fault["place"] == "service NAT" and "CAP_BPF" in fault["remedy"], fault


def test_without_the_way_to_its_folder():
    """As systemd has mounted it."""
    PINS.parent.chmod(0o700)
    fault = without("")
    assert fault["place"] == str(PINS) and "systemd-tmpfiles" in fault["remedy"], fault


def test_with_all_of_it_again(world):
    run("systemd-tmpfiles", "--create", "/usr/lib/tmpfiles.d/fingerpost.conf")
    systemctl("restart", "agentd")
    wait(lambda: routes() == ROUTES, "the announcement")
    assert in_order() and reaches(world["outside"], VIP)


def test_without_a_bpf_file_system():
    systemctl("stop", "agentd.socket", "agentd.service")
    run("umount", "/sys/fs/bpf")
    fault = without("")
    assert fault["place"] == str(PINS) and "mount" in fault["remedy"], fault


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))
