# SPDX-License-Identifier: Apache-2.0
"""The services that agentd keeps with the Consul agent of its node: kube-service-exporter's, and
whether a packet to the port would be served now. Real NAT, a real Consul agent, on a node of the lab."""

import re

import pytest
from controller import KSE
from lab import objects, wait, wait_equal
from lab.agent import REPOSITORY
from lab.traffic import serve
from node_agent import RULES, NodeConsul
from statsd import Statsd

pytestmark = pytest.mark.lab(nodes=1, nat=True)

PORTS = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080, "nodePort": 30080},
         {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 8080, "nodePort": 30053}]
HTTP, DNS = "lab-default-web-http", "lab-default-web-dns"
SERVED = ("passing", "it would be served")
PAGE = REPOSITORY / "docs" / "man" / "fingerpost-metrics.7.scd"


@pytest.fixture(name="pod")
def pod_fixture(lab):
    pod = lab.pod(lab.nodes[0], "one")
    serve(pod, 8080)
    return pod


@pytest.fixture(name="consul")
def consul_fixture(lab, pod, tmp_path):
    consul = NodeConsul(pod.node, tmp_path)
    yield consul
    consul.kill()


@pytest.fixture(name="token")
def token_fixture(consul, tmp_path):
    path = tmp_path / "token"
    path.write_text(consul.token()[1] + "\n", encoding="ascii")
    return path


@pytest.fixture(name="start")
def start_fixture(lab, consul, token):
    def start(ready=True, **more):
        lab.write_nodes()
        section = {"clusterID": "lab", "address": consul.address, "tokenFile": str(token),
                   "resync": "1s", **more}
        agent = lab.agent(lab.nodes[0], ready=ready, consul=section)
        return agent
    return start


def write(lab, pod, ready=True, name="web", exported="true", ports=PORTS, policy="Cluster", **notes):
    annotations = {KSE + "exported": exported,
                   **{KSE + key.replace("_", "-"): value for key, value in notes.items()}}
    lab.write(f"{name}.yaml",
              objects.service(name, ["203.0.113.10"], policy=policy, ports=ports,
                              annotations=annotations,
                              **({"healthCheckNodePort": 31000} if policy == "Local" else {})),
              objects.slice_of(name, [objects.endpoint(pod.address4, pod.node.role, ready=ready)],
                               ports=[{"name": port["name"], "port": 8080,
                                       "protocol": port["protocol"]} for port in ports]))


def state(consul, service):
    return consul.checks(service).get("Fingerpost")


def test_a_service_is_registered_checked_and_taken_out(lab, pod, consul, start):
    write(lab, pod)
    agent = start()
    wait_equal(lambda: set(consul.services()), {HTTP, DNS}, "the services")
    wait_equal(lambda: state(consul, HTTP), SERVED, "what NAT has proved")
    service = consul.services()[HTTP]
    assert (service["Service"], service["Port"], service["Address"]) == (
        HTTP, 30080, pod.node.address4)
    assert sorted(service["Tags"]) == ["kube-service-exporter", "lab"]
    assert service["Meta"]["fingerpost-service"] == "default/web"
    wait_equal(lambda: consul.checks(HTTP)["NodePort"][0], "passing", "Consul's own check")
    assert set(consul.checks(DNS)) == {"Fingerpost"}  # nobody connects to a UDP port

    write(lab, pod, ready=False)
    wait_equal(lambda: state(consul, HTTP), ("critical", "no endpoint is ready"), "without endpoints")
    write(lab, pod)
    wait_equal(lambda: state(consul, HTTP), SERVED, "with endpoints")
    assert agent.ctl("drain", "--no-wait").code == 0
    wait_equal(lambda: state(consul, HTTP), ("critical", "this node is out of service"), "drained")
    assert agent.ctl("undrain").code == 0
    wait_equal(lambda: state(consul, HTTP), SERVED, "back")

    write(lab, pod, ports=[{**PORTS[0], "name": "web", "nodePort": 30081}])
    wait_equal(lambda: {key: one["Port"] for key, one in consul.services().items()},
               {"lab-default-web-web": 30081}, "another name, another port")
    write(lab, pod, exported="false")
    wait_equal(consul.services, {}, "nothing")


def test_what_changes_often_is_told_at_once(lab, pod, consul, start):
    """Each change is wanted before the last one was read back, which is no quarrel with anybody: the
    time between writes does not grow, or the last of these would wait for minutes."""
    write(lab, pod)
    start()
    wait_equal(lambda: state(consul, HTTP), SERVED, "what NAT has proved")
    for turn in range(8):
        write(lab, pod, ready=False)
        wait_equal(lambda: state(consul, HTTP), ("critical", "no endpoint is ready"), f"gone: {turn}")
        write(lab, pod)
        wait_equal(lambda: state(consul, HTTP), SERVED, f"back: {turn}")


def test_policy_local_has_the_health_port_asked(lab, pod, consul, start):
    write(lab, pod, policy="Local")
    start()
    wait_equal(lambda: state(consul, HTTP), SERVED, "a local endpoint")
    wait(lambda: consul.checks(HTTP)["healthCheckNodePort"][0] == "passing", "the health port")
    write(lab, pod, policy="Local", ready=False)
    wait_equal(lambda: state(consul, HTTP), ("critical", "no endpoint is ready"), "none")
    wait(lambda: consul.checks(HTTP)["healthCheckNodePort"][0] == "critical", "the health port")


def test_nothing_of_others_is_touched(lab, pod, consul, start):
    """Somebody else's service under the id of ours, another cluster's, and one without any mark;
    kube-service-exporter's own is taken over."""
    consul.register(ID="by-hand", Name="by-hand", Port=1)
    consul.register(ID="other-x", Name="other-x", Port=2, Meta={"fingerpost-cluster": "lab2"})
    consul.register(ID=DNS, Name="dns", Port=53)
    consul.register(ID=HTTP, Name=HTTP, Port=1, Address="127.0.0.1",
                    Tags=["lab", "kube-service-exporter"])
    consul.register(ID="gone", Name="gone", Port=1, Meta={"fingerpost-cluster": "lab"})
    write(lab, pod)
    agent = start()
    wait_equal(lambda: set(consul.services()), {"by-hand", "other-x", DNS, HTTP}, "the services")
    wait_equal(lambda: consul.services()[HTTP]["Port"], 30080, "taken over")
    assert consul.services()[DNS]["Port"] == 53
    [fault] = wait(agent.faults, "the fault")
    assert fault["place"] == f"service {DNS}" and "somebody else" in fault["message"]
    consul.deregister(DNS)
    wait_equal(lambda: consul.services().get(DNS, {}).get("Port"), 30053, "its own")
    wait_equal(agent.faults, [], "no fault")


def test_what_others_change_is_put_right(lab, pod, consul, start):
    write(lab, pod)
    start()
    wait_equal(lambda: state(consul, HTTP), SERVED, "it stands")
    consul.deregister(HTTP)
    wait_equal(lambda: state(consul, HTTP), SERVED, "it is there again")
    consul.json("PUT", f"/v1/agent/check/update/fingerpost:{HTTP}", {"Status": "critical"})
    wait_equal(lambda: state(consul, HTTP), SERVED, "its state is true again")


def test_an_agent_away_killed_and_refused(lab, pod, consul, start, token):
    """Consul killed and back; agentd killed meanwhile; the token revoked, another given. What the
    agent has stays until it is known to be wrong."""
    write(lab, pod)
    agent = start()
    wait_equal(lambda: state(consul, HTTP), SERVED, "it stands")
    consul.kill()
    wait(lambda: [f for f in agent.faults() if f["subsystem"] == "consul"], "the fault")
    assert agent.ctl("status").code == 1
    agent.kill()
    write(lab, pod, ready=False)
    consul.start()
    assert set(consul.services()) == {HTTP, DNS}
    agent.start()
    wait_equal(lambda: state(consul, HTTP), ("critical", "no endpoint is ready"), "what is so now")
    wait_equal(agent.faults, [], "no fault")

    accessor, secret = consul.token(RULES + "# to be revoked")
    token.write_text(secret, encoding="ascii")
    consul.ask("DELETE", f"/v1/acl/token/{accessor}")
    wait(lambda: "403" in str(agent.faults()), "it may not")
    write(lab, pod, exported="false")
    agent.settled()
    assert set(consul.services()) == {HTTP, DNS}
    token.write_text(consul.token(RULES + "# another")[1], encoding="ascii")
    wait_equal(consul.services, {}, "it may")
    wait_equal(agent.faults, [], "no fault")


def test_a_token_of_the_environment(lab, pod, consul, start, token):
    """As kube-service-exporter and Consul's own clients have it, beside a datacenter that is passed on; no
    word of the token in the log. A file of the configuration goes first."""
    write(lab, pod)
    secret = token.read_text(encoding="ascii").strip()
    lab.write_nodes()
    agent = lab.agent(lab.nodes[0], start=False, consul={
        "clusterID": "lab", "address": consul.address, "resync": "1s", "datacenter": "dc1"})
    agent.wrapper = ("env", f"CONSUL_HTTP_TOKEN={secret}")
    agent.start()
    wait_equal(lambda: set(consul.services()), {HTTP, DNS}, "the services")
    assert secret not in agent.log_tail(10000)
    token.write_text("none\n", encoding="ascii")
    agent.settings["consul"]["tokenFile"] = str(token)
    agent.write_config()
    agent.reload()
    wait(lambda: "403" in str(agent.faults()), "the file's token is refused")


def test_a_state_that_nobody_tells_any_more_lapses(lab, pod, consul, start):
    """agentd is killed: after checkTTL Consul itself calls its services critical, and they stay."""
    write(lab, pod)
    agent = start(checkTTL="1m")
    wait_equal(lambda: state(consul, HTTP), SERVED, "it stands")
    agent.kill()
    wait(lambda: state(consul, HTTP)[0] == "critical", "the state has lapsed", 120)
    assert "TTL expired" in state(consul, HTTP)[1] and set(consul.services()) == {HTTP, DNS}
    agent.start()
    wait_equal(lambda: state(consul, HTTP), SERVED, "it is told again")


@pytest.fixture(name="statsd")
def statsd_fixture(pod):
    statsd = Statsd(pod.node)
    yield statsd
    statsd.close()


def test_requests_are_told_by_dogstatsd(lab, pod, consul, start, token, statsd):
    """As kube-service-exporter tells them of each service; those that fail, too."""
    write(lab, pod)
    start(dogstatsd={"address": f"127.0.0.1:{statsd.port}", "tags": ["dc:x"]})
    wait_equal(lambda: state(consul, HTTP), SERVED, "what NAT has proved")
    write(lab, pod, exported="false")
    wait_equal(consul.services, {}, "nothing")
    good = token.read_text(encoding="ascii")
    token.write_text("none\n", encoding="ascii")
    write(lab, pod)
    for line in (r"time:\d+\|ms\|#dc:x,method:get", r"success:1\|c\|#dc:x,method:get",
                 r"fail:1\|c\|#dc:x,method:get",
                 *[rf"{of}\|#dc:x,method:{method},service:{HTTP}" for method in ("put", "delete")
                   for of in (r"time:\d+\|ms", r"success:1\|c")]):
        wait(lambda line=line: statsd.heard(r"consul\.service\." + line), line)
    token.write_text(good, encoding="ascii")
    wait_equal(lambda: state(consul, HTTP), SERVED, "it is registered again")


def told(metrics):
    """The names of Consul's metrics."""
    return set(re.findall(r"^# TYPE (fingerpost_consul_\w+) ", metrics, re.MULTILINE))


def test_it_begins_and_ends_by_reload(lab, pod, consul, start):
    """Without the section Consul is not asked; what is registered stays when it goes."""
    write(lab, pod)
    agent = start()
    wait_equal(lambda: state(consul, HTTP), SERVED, "it stands")
    shown = agent.json("status")["consul"]
    assert (shown["wanted"], shown["registered"], shown["healthy"]) == (2, 2, 2)
    assert "2 of 2 services registered, 2 healthy" in agent.ctl("status").out
    metrics = agent.get("/metrics")
    assert 'fingerpost_consul_services{state="registered"} 2' in metrics
    assert told(metrics) == set(re.findall(r"^\*(fingerpost_consul_\w+)\*", PAGE.read_text("utf-8"),
                                           re.MULTILINE))
    section = agent.settings.pop("consul")
    agent.write_config()
    agent.reload()
    wait_equal(lambda: agent.json("status")["consul"], None, "it is not asked")
    write(lab, pod, exported="false")
    agent.settled()
    assert set(consul.services()) == {HTTP, DNS}
    agent.settings["consul"] = section
    agent.write_config()
    agent.reload()
    wait_equal(consul.services, {}, "it is asked again")
