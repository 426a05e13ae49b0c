/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes can forward all ports of an address. Internal to plan/.
 *
 * Routing works per address, not per port. With policy Local, clients of a port fail on a node
 * without an endpoint of it, whichever other ports the node serves. So of the nodes that may
 * announce the address, only those announce it that can forward all its ports, as long as there is
 * one. Each node determines this by the node names in the EndpointSlices.
 *
 * A port that no node could forward (its endpoints are on nodes that announce nothing, or on none)
 * does not count.
 */
#pragma once

#include "base/fault.h"
#include "plan/routes/claim.h"

/*
 * How long an address stays announced on a node that lacks a port of it after another node can
 * forward all ports: that node has to announce it first, and a rollout replaces pods one by one.
 */
enum { SHARED_PORTS_GRACE_MS = 5000 };

/* Which nodes announce an address. */
enum ports_verdict {
    PORTS_HERE,      /* this node, since it can forward all ports that any node can */
    PORTS_ELSEWHERE, /* other nodes can forward all ports, this one can't */
    PORTS_SPLIT,     /* no node can: each node with some ports announces it, this one too */
};

/* A port that this node can't forward and that has usable endpoints on other nodes. */
struct port_elsewhere {
    const struct candidate *candidate;
    const struct service_port *port;
};
typedef VEC(struct port_elsewhere) ports_elsewhere;

/* Whether a Service's ports count for its address: the address is announced for it on some node. */
bool shared_ports_counts(const struct candidate *candidate);

/*
 * The verdict for an address that this node may announce, with such ports, each of a candidate that
 * counts. `stand_in` is a node that could forward all ports at the last call, as a hash of its name
 * (0: none); another node replaces it if it no longer can. Returns an enum ports_verdict, or
 * -ENOMEM.
 */
int shared_ports_judge(const struct node_facts *facts, const candidate_list *list,
                       const ports_elsewhere *ports, uint64_t *stand_in);

/* "443/TCP of default/b". NULL: no memory. */
char *shared_ports_name(const struct port_elsewhere *port);

/* Reports the ports that fail on this node, which announces the address nonetheless. */
void shared_ports_fault(const ports_elsewhere *ports, struct faults *faults);

/* Whether a change of another Node may change verdicts. */
bool shared_ports_affected(const struct node_facts *facts, const struct change *change);
