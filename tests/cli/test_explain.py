# SPDX-License-Identifier: Apache-2.0
"""`agentctl explain NAMESPACE/SERVICE`."""

import asked_documents
import documents
from documents import items


def test_explain_by_name(ctl, agent):
    """What the world asks is explained, as if each address had been asked for; ClusterIPs are listed."""
    agent({"/v1/services": items("ServiceList", [documents.SERVICE]),
           "/v1/explain?address=10.0.0.1": asked_documents.EXPLANATION,
           "/v1/explain?pod=default/wbe": (404, {"error": "no Service and no pod has this name"})})
    code, output, errors = ctl.run("explain", "default/web")
    assert (code, errors) == (0, "")
    assert output == (
        "default/web is a Service of type LoadBalancer: 10.96.0.1 (clusterIP), 10.0.0.1 (loadBalancer)\n\n" + ctl.run("explain", "10.0.0.1")[1])
    assert ctl.run("explain", "default/wbe")[0] == 4


HOLDER = {"node": None, "pods": [{"namespace": "shop", "name": "cart-5", "node": "node-7", "faults": []}],
          "endpointOf": [{"namespace": "shop", "name": "cart", "node": "node-7", "ready": False,
                          "serving": True, "terminating": True}]}
POD = {**asked_documents.EXPLANATION, "address": "10.224.0.3", "state": "none", "reason": "pod",
       "reasonText": "it is a pod's own", "route": None, "services": [], "peers": [], "kernel": [],
       "holder": HOLDER}
NODE = {**POD, "address": "10.0.1.2", "reason": "node", "reasonText": "it is another Node's own",
        "holder": {"node": {"name": "node-9", "local": False, "addresses": ["10.0.1.2", "fd00::2"],
                            "podCIDRs": ["10.9.0.0/24"], "ready": True, "excluded": False},
                   "pods": [], "endpointOf": []}}


def test_explain_a_pod(ctl, agent):
    """By its address, and by its name where no Service has that."""
    agent({"/v1/services": items("ServiceList", []), "/v1/explain?address=10.224.0.3": POD,
           "/v1/explain?pod=shop/cart-5": POD})
    code, output, errors = ctl.run("explain", "10.224.0.3")
    assert (code, errors) == (0, "")
    assert output == ("10.224.0.3 is not announced: it is a pod's own\n"
                      "  pod       shop/cart-5 on node-7\n"
                      "  behind    shop/cart on node-7: terminating, still serving\n"
                      "  kernel    no route for exactly this\n")
    assert ctl.run("explain", "shop/cart-5") == (0, output, "")


def test_explain_a_node(ctl, agent):
    agent({"/v1/explain?node=node-9": NODE})
    assert ctl.run("explain", "node-9") == (
        0,
        "10.0.1.2 is not announced: it is another Node's own\n"
        "  node      node-9: 10.0.1.2, fd00::2; podCIDRs 10.9.0.0/24; Ready\n"
        "  kernel    no route for exactly this\n",
        "",
    )


def fault(place, message, remedy=None):
    return {"subsystem": "services", "place": place, "message": message, "remedy": remedy, "follows": None,
            "since": "2026-11-26T10:00:00Z"}


def test_explain_says_what_status_says(ctl, agent):
    """Of the address, its Services, and the pods that have it; of others nothing."""
    [pod] = HOLDER["pods"]
    told = fault("Egress net/nat", "does not exist, but Pod shop/cart-50 and 1 more names it", "create it")
    agent({"/v1/services": items("ServiceList", []), "/v1/explain?pod=shop/cart-5": {
               **POD, "holder": {**HOLDER, "pods": [{**pod, "faults": [told]}]}},
           "/v1/explain?address=10.0.0.1": asked_documents.EXPLANATION,
           "/v1/faults": items("FaultList", [
               fault("Service default/web", "port p has no endpoints", "see targetPort"),
               fault("Service default/web2", "is another"),
               told,
               fault("Egress net/gate", "does not exist, but Pod shop/cart-50 names it")])})
    output = ctl.run("explain", "10.0.0.1")[1]
    assert "  fault     port p has no endpoints\n            -> see targetPort\n" in output
    assert output.count("  fault ") == 1
    output = ctl.run("explain", "shop/cart-5")[1]
    assert ("  fault     Egress net/nat: does not exist, but Pod shop/cart-50 and 1 more names it\n"
            "            -> create it\n") in output
    assert output.count("  fault ") == 1


FIREWALL = {**fault("firewall, IPv4", "netfilter on this node drops what Services forward", "accept it"), "group": "firewall"}
BESIDE = "  fault     firewall, IPv4: netfilter on this node drops what Services forward\n            -> accept it\n"


def test_a_fault_of_the_host_is_of_its_addresses(ctl, agent):
    """One judgement: whoever is asked about the address says so, and what it means is in the exit status."""
    places = {"hostFaults": ["firewall, IPv4"]}
    [internal, external] = documents.SERVICE["addresses"]
    service = {**documents.SERVICE, "addresses": [internal, {**external, **places}]}
    agent({"/v1/services": items("ServiceList", [service]),
           "/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, "hostFaults": [FIREWALL]},
           "/v1/trace?source=10.0.0.9&destination=10.0.0.1%3A80&protocol=TCP": {
               **asked_documents.TRACE, "hostFaults": [FIREWALL]},
           "/v1/routes": {**items("RouteList", [{**documents.ROUTES[1], **places}]), "direct": []}})
    for words in (("10.0.0.1",), ("default/web",), ("10.0.0.1", "--json")):
        code, output, _ = ctl.run("explain", *words)
        assert code == 1 and ("--json" in words or BESIDE in output), output
    code, output, _ = ctl.run("trace", "10.0.0.9", "10.0.0.1:80/TCP")
    assert code == 0 and output.endswith(BESIDE)
    assert "fault: firewall, IPv4" in ctl.run("services")[1]
    assert "fault: firewall, IPv4" in ctl.run("routes")[1]


def test_explain_ends_well_where_nothing_is_wrong(ctl, agent):
    """An address that is withheld as it should be is no fault."""
    withheld = {**documents.ROUTES[1], **documents.WITHHELD, "state": "withheld", "installed": False}
    agent({"/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, **documents.WITHHELD,
                                            "state": "withheld", "route": withheld}})
    assert ctl.run("explain", "10.0.0.1")[0] == 0


def test_explain_ends_with_1_where_it_is_not_as_wanted(ctl, agent):
    agent({"/v1/explain?address=10.0.0.1": {**asked_documents.EXPLANATION, "route": {**documents.ROUTES[1], "installed": False}}})
    assert ctl.run("explain", "10.0.0.1")[0] == 1


def test_explain_what_only_faults_know(ctl, agent):
    """An Egress, a pool or a block has no explanation of its own."""
    agent({"/v1/services": items("ServiceList", []),
           "/v1/explain?pod=net/nat": (404, {"error": "no Service and no pod has this name"}),
           "/v1/explain?node=gold": (404, {"error": "no Node has this name"}),
           "/v1/explain?node=gol": (404, {"error": "no Node has this name"}),
           "/v1/faults": items("FaultList", [
               fault("Egress net/nat", "no gateway takes new flows", "label Nodes"),
               fault("AddressPool gold", "has no block left")])})
    assert ctl.run("explain", "net/nat") == (
        1, "Egress net/nat is not in order\n  fault     no gateway takes new flows\n            -> label Nodes\n", "")
    assert ctl.run("explain", "gold") == (
        1, "AddressPool gold is not in order\n  fault     has no block left\n", "")
    assert ctl.run("explain", "gol")[0] == 4


def test_explain_a_service_that_waits(ctl, agent):
    waiting = {**documents.SERVICE, "addresses": []}
    agent({"/v1/services": items("ServiceList", [waiting])})
    assert ctl.run("explain", "default/web") == (
        0,
        "default/web is a Service of type LoadBalancer\n"
        "  -> it waits for an address: status.loadBalancer.ingress has none that can be used\n"
        "     why, who gives it says: agentctl controller, and the Service's condition fingerpost.io/AddressAssigned\n",
        "",
    )


def test_explain_a_service_that_gets_none(ctl, agent):
    """Where this agent gives addresses, it knows why."""
    lack = {"family": "IPv4", "address": None, "reason": "pool-full", "reasonText": "no pool has one left", "of": "default/lan"}
    waiting = {**documents.SERVICE, "addresses": [], "pending": [lack]}
    agent({"/v1/services": items("ServiceList", [waiting])})
    assert ctl.run("explain", "default/web") == (
        0,
        "default/web is a Service of type LoadBalancer\n"
        "  -> it is pending, has no IPv4: no pool has one left: default/lan\n",
        "",
    )
