# SPDX-License-Identifier: Apache-2.0
"""What the plugin is asked: each version, and each way to ask wrongly. None of it reaches agentd."""

import json

import pytest
from conftest import PLUGIN, Refusal
from test_verbs import VERSIONS, expect_golden


@pytest.mark.parametrize("version", (*VERSIONS, "0.1.0", "9.9.9"))
def test_version(node, version):
    answer = node.end(node.start({"CNI_COMMAND": "VERSION"}, {"cniVersion": version}))
    assert answer == {"cniVersion": version, "supportedVersions": list(VERSIONS)}


def test_version_without_a_version(node):
    answer = node.end(node.start({"CNI_COMMAND": "VERSION"}, {}))
    assert answer["cniVersion"] == "1.1.0"


@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_in_each_version(node, pod, version):
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1", version)
    text = json.dumps(refusal.value.document, indent=2).replace(str(node.socket), "SOCKET") + "\n"
    expect_golden(f"error-{version}.json", text)


@pytest.mark.parametrize("command, version, code", (
    ("CHECK", "0.3.1", 1), ("GC", "1.0.0", 1), ("STATUS", "1.0.0", 1), ("GC", "0.4.0", 1),
    ("STATUS", "0.3.1", 1), ("ADD", "0.2.0", 1), ("ADD", "0.3.0", 1), ("DEL", "1.2.0", 1), ("ADD", "", 1),
))
def test_a_version_that_is_not_spoken(node, agent, pod, command, version, code):
    with pytest.raises(Refusal) as refusal:
        node.call(command, pod, "c1", version)
    assert refusal.value.code == code and not agent.asked


def test_a_configuration_without_a_version(node, agent, pod):
    config = node.config()
    del config["cniVersion"]
    with pytest.raises(Refusal) as refusal:
        node.end(node.start(node.environment("ADD", pod, "c1"), config))
    assert refusal.value.code == 1


ENVIRONMENT = (
    ({"CNI_COMMAND": "add"}, "CNI_COMMAND"), ({"CNI_COMMAND": ""}, "CNI_COMMAND"),
    ({"CNI_CONTAINERID": ""}, "CNI_CONTAINERID"), ({"CNI_CONTAINERID": "../x"}, "CNI_CONTAINERID"),
    ({"CNI_CONTAINERID": "-x"}, "CNI_CONTAINERID"), ({"CNI_CONTAINERID": "a" * 254}, "CNI_CONTAINERID"),
    ({"CNI_CONTAINERID": "a\nb"}, "CNI_CONTAINERID"),
    ({"CNI_IFNAME": ""}, "CNI_IFNAME"), ({"CNI_IFNAME": "a/b"}, "CNI_IFNAME"),
    ({"CNI_IFNAME": "a:b"}, "CNI_IFNAME"), ({"CNI_IFNAME": ".."}, "CNI_IFNAME"),
    ({"CNI_IFNAME": "a b"}, "CNI_IFNAME"), ({"CNI_IFNAME": "sixteen-letters-"}, "CNI_IFNAME"),
    ({"CNI_NETNS": ""}, "CNI_NETNS"), ({"CNI_NETNS": "run/netns/x"}, "CNI_NETNS"),
    ({"CNI_ARGS": "K8S_POD_NAMESPACE"}, "KEY=VALUE"), ({"CNI_ARGS": "X=1"}, "X is not known"),
    ({"CNI_ARGS": "X=1;NotIgnoreUnknown=1"}, "not known"), ({"CNI_ARGS": "IgnoreUnknown=1"}, "K8S_POD_NAME"),
    ({"CNI_ARGS": ""}, "K8S_POD_NAME"), ({"CNI_ARGS": "K8S_POD_NAMESPACE=a;K8S_POD_NAME="}, "K8S_POD_NAME"),
)


@pytest.mark.parametrize("changes, said", ENVIRONMENT, ids=[str(number) for number in range(len(ENVIRONMENT))])
def test_an_environment_that_is_wrong(node, agent, pod, changes, said):
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1", environment=changes)
    assert refusal.value.code == 4 and said in refusal.value.message and refusal.value.remedy
    assert not agent.asked


@pytest.mark.parametrize("key", ("Socket", "sock", "socketPath", "egressonly", "egress_only"))
def test_a_key_that_is_misspelt(node, agent, pod, key):
    """It would be the default, and nobody would say so. Pods go all the same."""
    config = node.config(**{key: "/run/other.sock"})
    with pytest.raises(Refusal) as refusal:
        node.end(node.start(node.environment("ADD", pod, "c1"), config))
    assert refusal.value.code == 2 and f'unknown key "{key}"; did you mean' in refusal.value.message
    assert not agent.asked
    node.end(node.start(node.environment("DEL", pod, "c1"), config))


def test_what_is_no_socket(node, pod):
    node.socket.mkdir()
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c1")
    assert "is no socket" in refusal.value.message and "agentd.sock" in refusal.value.remedy


CONFIGS = (
    ("", 6), ("x", 6), ("[]", 6), ('"x"', 6), ('{"cniVersion": "1.0.0"', 6), ('{"a": 1, "a": 2}', 6), ("{} {}", 6),
    ("[" * 5000, 6), ('{"cniVersion": "1.0.0", "name": "a\\u0000b"}', 6),
    ('{"cniVersion": ["1.0.0"], "name": "pods"}', 7),
    ('{"cniVersion": "1.0.0"}', 7), ('{"cniVersion": "1.0.0", "name": "a/b"}', 7),
    ('{"cniVersion": "1.0.0", "name": {}}', 7),
    ('{"cniVersion": "1.0.0", "name": "pods", "socket": "agentd.sock"}', 7),
    (json.dumps({"cniVersion": "1.0.0", "name": "pods", "socket": "/" + "x" * 200}), 7),
    ('{"cniVersion": "1.0.0", "name": "pods", "socket": 7, "egressOnly": "often"}', 7),
    ('{"cniVersion": "1.0.0", "name": "pods", "ipam": {"type": "host-local"}}', 2),
    ('{"cniVersion": "1.0.0", "name": "pods", "runtimeConfig": {"ips": ["10.1.2.3"]}}', 2),
    ('{"cniVersion": "1.0.0", "name": "pods", "runtimeConfig": {"mac": "02:00:00:00:00:77"}}', 2),
    (" " * (4 << 20) + "{}", 6),
)


@pytest.mark.parametrize("config, code", CONFIGS, ids=[str(number) for number in range(len(CONFIGS))])
def test_a_configuration_that_is_wrong(node, agent, pod, config, code):
    with pytest.raises(Refusal) as refusal:
        node.end(node.start(node.environment("ADD", pod, "c1"), config))
    assert refusal.value.code == code and refusal.value.remedy
    assert not agent.asked


def test_capabilities_that_are_not_asked_for(node, agent, pod):
    """An empty list of ports, and what needs nobody to do something."""
    node.call("ADD", pod, "c1", runtimeConfig={"portMappings": [], "cgroupPath": "/pods", "dns": {}})
    with pytest.raises(Refusal) as refusal:
        node.call("ADD", pod, "c2", runtimeConfig={"portMappings": [{"hostPort": 80, "containerPort": 80}]})
    assert "portMappings" in refusal.value.message and "portmap" in refusal.value.remedy
    node.call("DEL", pod, "c1", runtimeConfig={"portMappings": [{"hostPort": 80, "containerPort": 80}]})


def test_a_namespace_that_is_none(node, agent, pod, tmp_path):
    (tmp_path / "file").write_text("")
    for path, code in ((f"{tmp_path}/none", 3), (f"{tmp_path}/file", 4), (f"{tmp_path}", 4),
                       (f"/run/netns/{node.host.name}", 4), ("/proc/self/ns/mnt", 4), ("/dev/null", 4)):
        with pytest.raises(Refusal) as refusal:
            node.call("ADD", None, "c1", environment={"CNI_NETNS": path})
        assert refusal.value.code == code, path
        node.call("DEL", None, "c1", environment={"CNI_NETNS": path})
    assert {name.split()[0] for name, _ in agent.asked} == {"DELETE"}


@pytest.mark.parametrize("words, status, said", (
    ((), 64, "usage"), (("help",), 64, "usage"), (("install", "x"), 64, "usage"), (("--what",), 64, "usage"),
    (("--help",), 0, "install"), (("--version",), 0, "agent-cni "),
))
def test_run_by_hand(node, words, status, said):
    done = node.host.run(str(PLUGIN), *words, check=False)
    assert done.returncode == status and said in done.stdout + done.stderr
