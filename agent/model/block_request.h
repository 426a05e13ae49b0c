/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coil's BlockRequest (coil.cybozu.com/v2, cluster scope): a node asks for a block of a pool. The
 * node makes one, the controller answers in its status, and the node makes another for the next
 * block: one request, told apart by its uid, is one block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/object.h"

struct block_request {
    struct object object;
    const char *node, *pool; /* spec.nodeName, spec.poolName */
    const char *block;       /* status.addressBlockName; "": none */
    bool answered;           /* has a condition: the controller has nothing more to say */
    bool failed;             /* condition Failed is True: there is no block */
    bool complete;           /* condition Complete is True */
    const char *reason;      /* of Failed where it is True; else "" */
};

static inline const struct block_request *to_block_request(const struct object *object)
{
    return (const struct block_request *)object;
}
