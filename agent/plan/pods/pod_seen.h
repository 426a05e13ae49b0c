/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pod interfaces of this node in the kernel: links with their alias, and their routes. Only the
 * kernel stores which pod interface has which address, at the start and in every pass. Pure.
 *
 * A pod interface has the addresses of its routes; if only one family's route is left, the other
 * address follows from the block. So a route that was removed, even while no agent ran, is detected
 * as missing as long as one of the two is there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sorted.h"
#include "base/vec.h"
#include "plan/link_table.h"
#include "plan/pods/pod_addresses.h"
#include "plan/routes/route_table.h"

struct pod_seen {
    struct pod_interface pod_interface; /* addresses: IP_NONE if unknown */
    uint32_t ifindex;                   /* of the host's end */
};

/* An address of a block with a route by an interface that is no pod interface's. */
struct pod_unowned {
    struct ip ip;
    uint32_t ifindex;
};

struct pods_seen {
    VEC(struct pod_seen)
    pod_interfaces; /* sorted by pod interface; of two links with the same one the lower index
                       counts */
    VEC(struct pod_unowned) unowned;
};

/* Whether it is a route to a pod: ours or Coil's, in main or in table 116. */
bool route_is_pods(const struct route *route);

/*
 * Reads links and routes of the kernel's mirror. Of `table` it reads only the blocks. Returns 0 or
 * -ENOMEM.
 */
int plan_pods_seen(const struct sorted *links, const struct sorted *routes,
                   const struct pod_addresses *table, struct pods_seen *ret_seen);
void pods_seen_done(struct pods_seen *seen);

/* The one of this pod interface; NULL: none. */
const struct pod_seen *pods_seen_find(const struct pods_seen *seen,
                                      const struct pod_interface *pod_interface);

/* The route to an address of a pod interface, in this table, by the host's end. */
struct route plan_pod_route(uint32_t table, const struct ip *ip, uint32_t ifindex);
