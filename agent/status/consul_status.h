/* SPDX-License-Identifier: Apache-2.0 */
/* The services of Consul's agent on this node. Written by report/consul_keeper.c, read by api. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CONSUL_ERROR_WORDS = 256 };

struct consul_status {
    bool enabled;
    const char *address; /* of Consul's agent; of the configuration */
    bool known;          /* its services were read, and no write is under way */
    uint32_t wanted, healthy;
    uint32_t registered; /* that are ours */
    uint32_t refused;    /* Services with invalid annotations */
    uint32_t kept;       /* registered services of these Services, which stay */
    uint32_t foreign;    /* wanted ids that foreign services have */
    uint32_t pending;    /* writes queued or under way */
    uint64_t registrations, updates, removals, failures; /* since the start */
    int64_t read_wall_ms;                                /* 0: never */
    char error[CONSUL_ERROR_WORDS];                      /* of the last request; "": none */
};
