/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the kernel's rules and routes let pass what pods answer to clients: a fault for what is
 * refused because it comes from a pod; for a table main that no rule looks up, and for an address
 * of this node's that the kernel does not take for its own. Part of the upkeep (nat_upkeep.h).
 */
#pragma once

#include <stdint.h>

#include "base/net/ip.h"

struct nat_engine;

struct nat_answers {
    unsigned refused[2]; /* looks one after the other that found it so; IPv4, IPv6 */
};

/* What the stack would do with a packet of a pod's to a client. */
struct answer_way {
    uint32_t in, out; /* interfaces: the host's end of the pod, and where it leaves; 0: nowhere */
    bool refused;     /* by a rule or a route that says so */
};

/* Returns 1; 0 if there is no way to the pod; or -errno. */
int nat_answer_way(const struct nat_engine *engine, const struct ip *pod, const struct ip *client,
                   struct answer_way *ret_way);

/* Looks at a few pods; to be called about twice a second. */
void nat_answers_look(struct nat_engine *engine);
