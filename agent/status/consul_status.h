/* SPDX-License-Identifier: Apache-2.0 */
/* The services of Consul's agent on this node. Written by report/consul_keeper.c, read by api. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CONSUL_ERROR_WORDS = 256 };

struct consul_status {
    bool enabled;
    const char *address; /* of Consul's agent; of the configuration */
    bool known;          /* what it has was read, and nothing is being written */
    uint32_t wanted, healthy;
    uint32_t registered; /* that are ours */
    uint32_t refused;    /* Services whose annotations can't be read */
    uint32_t kept;       /* services of these, which stay */
    uint32_t foreign;    /* wanted ids that others have */
    uint32_t pending;    /* writes that wait or are under way */
    uint64_t registrations, updates, removals, failures; /* since the start */
    int64_t read_wall_ms;                                /* 0: never */
    char error[CONSUL_ERROR_WORDS];                      /* of the last request; "": none */
};
