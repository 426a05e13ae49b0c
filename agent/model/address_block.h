/* SPDX-License-Identifier: Apache-2.0 */
/* Coil's AddressPool and AddressBlock (coil.cybozu.com/v2, cluster scope). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "model/object.h"

/* Labels of blocks. The last is ours: a Node that was made anew under its name is another one. */
#define POOL_LABEL     "coil.cybozu.com/pool"
#define NODE_LABEL     "coil.cybozu.com/node"
#define REQUEST_LABEL  "coil.cybozu.com/request"
#define RESERVED_LABEL "coil.cybozu.com/reserved"
#define NODE_UID_LABEL "fingerpost.io/node-uid"

/* What holds a pool until its last block is gone, and a block until its node has let go of it. */
#define COIL_FINALIZER "coil.cybozu.com"

/* Annotation of a pool: the MTU of its pods' interfaces, in place of what the uplinks leave. */
#define POOL_MTU "fingerpost.io/mtu"
enum { POOL_MTU_MIN = 1280, POOL_MTU_MAX = 65535 };

struct pool_subnet {
    struct prefix ipv4, ipv6; /* family IP_NONE: not given */
};

struct address_pool {
    struct object object;
    uint8_t block_size_bits;
    const struct pool_subnet *subnets;
    uint32_t subnet_count;
    uint32_t mtu; /* 0: not given */
};

struct address_block {
    struct object object;
    uint32_t index;
    struct prefix ipv4, ipv6; /* family IP_NONE: not given */
    const char *pool, *node;  /* labels coil.cybozu.com/pool and /node; "" if absent */
    const char *request;      /* label coil.cybozu.com/request: the uid of whose answer it is; "" */
    const char *node_uid;     /* label fingerpost.io/node-uid: which Node of that name; "" */
    bool reserved;            /* label coil.cybozu.com/reserved is "true" */
};

static inline const struct address_pool *to_address_pool(const struct object *object)
{
    return (const struct address_pool *)object;
}

static inline const struct address_block *to_address_block(const struct object *object)
{
    return (const struct address_block *)object;
}
