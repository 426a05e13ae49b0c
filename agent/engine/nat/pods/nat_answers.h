/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the kernel's rules and routes accept replies of pods to clients: raises a fault if
 * they are refused because they come from a pod, if no rule looks up table main, and if an address
 * of this node is not local to the kernel. Part of the upkeep (nat_upkeep.h).
 */
#pragma once

#include <stdint.h>

#include "base/net/ip.h"

struct nat_engine;

struct nat_answers {
    unsigned refused[2]; /* consecutive checks with this result; IPv4, IPv6 */
};

/* The stack's route for a packet from a pod to a client. */
struct answer_way {
    uint32_t in, out; /* interfaces: the host end of the pod, and the output interface; 0: none */
    bool refused;     /* a rule or a route refuses it explicitly */
};

/* Returns 1; 0 if there is no route to the pod; or -errno. */
int nat_answer_way(const struct nat_engine *engine, const struct ip *pod, const struct ip *client,
                   struct answer_way *ret_way);

/* Checks a few pods; to be called about twice a second. */
void nat_answers_look(struct nat_engine *engine);
