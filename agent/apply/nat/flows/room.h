/* SPDX-License-Identifier: Apache-2.0 */
/* Whether there is room for new flows, where some were refused. */
#pragma once

#include "apply/nat/datapath.h"
#include "status/packet_seen.h"

enum nat_room {
    NAT_ROOM_NONE,
    NAT_ROOM_SOME,
    NAT_ROOM_NOT_KNOWN, /* not all was looked at: ask on */
};

/*
 * Whether a new flow to where one was refused would have a source port. `at`: where to look on, 0
 * at first; a call looks at some, and counts it up.
 */
enum nat_room nat_datapath_find_port(const struct nat_datapath *datapath,
                                     const struct packet_seen *refused, uint32_t *at);

/* Whether the destination of such a reply keeps a new flow from it. `now_s`: monotonic. */
bool nat_datapath_port_is_taken(const struct nat_datapath *datapath, const struct nat_tuple *reply,
                                uint32_t now_s);

/* Whether the table of flows has places to give, by the last round of the sweep. */
bool nat_datapath_flows_fit(const struct nat_datapath *datapath);
