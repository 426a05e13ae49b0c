/* SPDX-License-Identifier: Apache-2.0 */
/* Whether there is room for new flows again, after some were refused. */
#pragma once

#include "apply/nat/datapath.h"
#include "status/packet_seen.h"

enum nat_room {
    NAT_ROOM_NONE,
    NAT_ROOM_SOME,
    NAT_ROOM_NOT_KNOWN, /* not everything was checked yet: call again */
};

/*
 * Whether a new flow to the destination of a refused one would get a source port. `at`: the
 * position to continue from, 0 at first; each call checks a part and advances it.
 */
enum nat_room nat_datapath_find_port(const struct nat_datapath *datapath,
                                     const struct packet_seen *refused, uint32_t *at);

/* Whether the destination of such a reply prevents a new flow. `now_s`: monotonic. */
bool nat_datapath_port_is_taken(const struct nat_datapath *datapath, const struct nat_tuple *reply,
                                uint32_t now_s);

/* Whether the table of flows has free places, by the last round of the sweep. */
bool nat_datapath_flows_fit(const struct nat_datapath *datapath);
