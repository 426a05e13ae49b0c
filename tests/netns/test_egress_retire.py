# SPDX-License-Identifier: Apache-2.0
"""A gateway that is taken out of service by its label: ordinary, until its time for a drain is over."""

import pytest
from lab import wait, wait_equal
from lab.traffic import serve
from test_egress import PORT, egress, pod_object, seen, write_nodes

IDLE = "this gateway serves no Egress"


@pytest.mark.lab(nat=True, nodes=3)
def test_that_a_gateway_serves_none_any_more_is_a_fault_after_its_drain(lab):
    lab.first, *gateways = lab.nodes
    one, two = gateways
    write_nodes(lab, one, two)
    lab.guest = lab.pod(lab.first, "guest")
    lab.write("egress.yaml", egress())
    lab.write("pods.yaml", pod_object(lab.guest))
    lab.agent(lab.first, egress={"enabled": True}, services={"enabled": False})
    agent, _ = [lab.agent(node, egress={"gateway": {"drain": "5s"}}, services={"enabled": False}) for node in gateways]
    lab.wait_sessions()
    serve(lab.client, PORT)
    wait(lambda: seen(lab, 4) in (one.address4, two.address4), "the pod to leave by a gateway")
    write_nodes(lab, two)
    wait(lambda: not agent.json("egress")["gateway"]["serves"], "it to serve none")
    assert agent.faults() == []
    wait_equal(lambda: [fault["code"] for fault in agent.faults()], ["egress-gateway-serves-none"],
               "that it serves none to be told")
    write_nodes(lab, one, two)
    wait_equal(agent.faults, [], "that to be over")
    agent.stop()
    write_nodes(lab, two)
    agent.start()
    assert [fault["message"] for fault in agent.faults()] == [IDLE], "an agent that starts knows of no time before"
