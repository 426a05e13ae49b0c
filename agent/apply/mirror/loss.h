/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deleted objects that routes may have needed: links, addresses, next hop objects. The kernel
 * deletes such routes without a notification, so a mirror that holds one of them dumps its routes
 * again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include "base/net/ip.h"
#include "base/sorted.h"
#include "base/vec.h"

struct loss {
    uint32_t ifindex; /* 0: a next hop object, of any interface */
    struct ip ip;     /* IP_NONE: the link itself */
};

typedef VEC(struct loss) loss_list;

/* Appends the objects that a message reports as deleted; most messages report none. Returns 0 or
 * -ENOMEM. */
int losses_hear(loss_list *losses, const struct nlmsghdr *message);

/* True if a route among `routes` (struct route) may have needed one of them. */
bool losses_may_hit(const loss_list *losses, const struct sorted *routes);
