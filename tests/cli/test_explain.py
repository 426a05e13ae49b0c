# SPDX-License-Identifier: Apache-2.0
"""`agentctl explain NAMESPACE/SERVICE`."""

import documents
from documents import items


def test_explain_by_name(ctl, agent):
    """What the world asks is explained, as if each address had been asked for; ClusterIPs are listed."""
    agent({"/v1/services": items("ServiceList", [documents.SERVICE]),
           "/v1/explain?address=10.0.0.1": documents.EXPLANATION})
    code, output, errors = ctl.run("explain", "default/web")
    assert (code, errors) == (0, "")
    assert output == (
        "default/web is a Service of type LoadBalancer: 10.96.0.1 (clusterIP), 10.0.0.1 (loadBalancer)\n\n" + ctl.run("explain", "10.0.0.1")[1])
    assert ctl.run("explain", "default/wbe") == (4, "", "agentctl: no Service is called default/wbe\n")


def test_explain_a_service_that_waits(ctl, agent):
    waiting = {**documents.SERVICE, "addresses": []}
    agent({"/v1/services": items("ServiceList", [waiting])})
    assert ctl.run("explain", "default/web") == (
        0,
        "default/web is a Service of type LoadBalancer\n"
        "  -> it waits for an address: status.loadBalancer.ingress has none that can be used\n",
        "",
    )
