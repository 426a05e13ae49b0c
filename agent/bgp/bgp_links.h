/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface by which each BGP peer is reached. Sessions whose interface is down have no fault
 * each: the fault of the interface covers them.
 */
#pragma once

#include "base/sorted.h"
#include "base/vec.h"
#include "status/bird_status.h"

/* The interface by which a peer was last reached. */
struct bgp_link {
    char address[64]; /* the peer's */
    uint32_t ifindex;
};

typedef VEC(struct bgp_link) bgp_link_list;

/*
 * Called after each poll. Notes the interface by which each peer is reached, and sets
 * bgp_peer.down_link of each peer that is down because of its interface. `links`: struct link;
 * `addresses`: struct link_address. A peer that could not be noted for lack of memory has no
 * interface.
 */
void bgp_links_follow(bgp_link_list *list, struct bird_status *bird, const struct sorted *links,
                      const struct sorted *addresses);
