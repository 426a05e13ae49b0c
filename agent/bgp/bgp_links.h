/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By which interface each BGP peer is reached: a session whose interface is down has no fault of
 * its own, however many there are.
 */
#pragma once

#include "base/sorted.h"
#include "base/vec.h"
#include "status/bird_status.h"

/* The interface by which a peer was seen to be reached last. */
struct bgp_link {
    char address[64]; /* the peer's */
    uint32_t ifindex;
};

typedef VEC(struct bgp_link) bgp_link_list;

/*
 * After each poll: notes by which interface each peer is reached, and says of each that is down
 * whether it is because of that interface (bgp_peer.down_link). `links`: struct link; `addresses`:
 * struct link_address. What there is no memory to note has no interface.
 */
void bgp_links_follow(bgp_link_list *list, struct bird_status *bird, const struct sorted *links,
                      const struct sorted *addresses);
