/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes can serve an address with all its ports. Internal to plan/.
 *
 * A route leads to an address, never to one of its ports. Where a port is of policy Local, clients
 * of that port are lost on a node without an endpoint of it, whatever else the node serves. So of
 * the nodes that may announce the address only those do that can forward all its ports, as long as
 * there is one. Each node finds that out for itself, by the names of nodes in the slices.
 *
 * A port that no node could forward (its endpoints are on nodes that announce nothing, or on none)
 * has no say.
 */
#pragma once

#include "base/fault.h"
#include "plan/routes/claim.h"

/*
 * For how long an address stays announced on a node that lacks a port of it, once another node can
 * forward them all: that node has to announce it first, and pods of a rollout come one after the
 * other.
 */
enum { SHARED_PORTS_GRACE_MS = 5000 };

/* Who is to announce an address. */
enum ports_verdict {
    PORTS_HERE,      /* this node, as it can forward all that any can */
    PORTS_ELSEWHERE, /* others can, and this one not */
    PORTS_SPLIT,     /* none can: each that has any, this one, too */
};

/* A port that this node can't forward while it has usable endpoints on other nodes. */
struct port_elsewhere {
    const struct candidate *candidate;
    const struct service_port *port;
};
typedef VEC(struct port_elsewhere) ports_elsewhere;

/* Whether a Service's ports have a say about its address: it is announced somewhere for it. */
bool shared_ports_counts(const struct candidate *candidate);

/*
 * The verdict about an address that this node may announce, with such ports, each of a candidate
 * that counts. `stand_in` is a node that could forward all ports when this was asked last, by a
 * number of its name (0: none); it is replaced by another where it can't any more. Returns an enum
 * ports_verdict, or -ENOMEM.
 */
int shared_ports_judge(const struct node_facts *facts, const candidate_list *list,
                       const ports_elsewhere *ports, uint64_t *stand_in);

/* "443/TCP of default/b". NULL: no memory. */
char *shared_ports_name(const struct port_elsewhere *port);

/* Tells of the ports that are lost on this node, which announces the address nonetheless. */
void shared_ports_fault(const ports_elsewhere *ports, struct faults *faults);

/* Whether a change of another Node may change verdicts. */
bool shared_ports_affected(const struct node_facts *facts, const struct change *change);
