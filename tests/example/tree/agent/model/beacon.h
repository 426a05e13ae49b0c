/* SPDX-License-Identifier: Apache-2.0 */
/* The example's own kind (example.fingerpost.io/v1, cluster scope): a network to be dropped. */
#pragma once

#include "base/net/ip.h"
#include "model/object.h"

struct beacon {
    struct object object;
    struct prefix prefix;
};

static inline const struct beacon *to_beacon(const struct object *object)
{
    return (const struct beacon *)object;
}
