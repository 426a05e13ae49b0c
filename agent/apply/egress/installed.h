/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the maps of egress, as values in sorted tables. */
#pragma once

#include "plan/egress/egress_table.h"

/* A set in the maps. */
struct egress_installed_set {
    char *egress;
    uint8_t family;
    uint32_t id;
};

/* A policy in the maps, by the number that the agent has allocated to it. */
struct egress_installed_policy {
    struct egress_policy_key key; /* its own memory */
    uint32_t id;
    bool partial; /* some of its routes did not fit */
};

/* An entry of "egress_routes". */
struct egress_route {
    uint32_t policy; /* 0: a stay */
    struct prefix prefix;
    uint32_t set;
};

/* An entry of "egress_pods". */
struct egress_installed_pod {
    struct ip address;
    uint32_t policy, flags;
    uint32_t port;    /* the bridge port behind which the address was found; 0: unknown */
    int64_t since_ms; /* monotonic: since when it has this policy; 0: an earlier agent set it */
    bool adopted;     /* an earlier agent's policy, whose number will change */
};

int egress_installed_set_cmp(const void *a, const void *b);
int egress_installed_policy_cmp(const void *a, const void *b);
int egress_route_cmp(const void *a, const void *b);
int egress_installed_pod_cmp(const void *a, const void *b);
