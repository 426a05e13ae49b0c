/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behind which ports of bridges the clients of this node are, so that no packet has to tell.
 * Internal to engine/egress/.
 */
#pragma once

#include "apply/netlink/nl.h"
#include "base/sorted.h"
#include "loop/backoff.h"

struct egress_engine;
struct round;

struct egress_homes {
    struct nl_socket *socket; /* NULL: nothing had to be read yet */
    struct sorted ports;      /* struct egress_home_port, of homes.c */
    struct sorted found;      /* struct port_address: of clients alone */
    struct sorted homes;      /* struct egress_home: what the datapath is told */
    struct backoff retry;
    int64_t retry_ms; /* monotonic; INT64_MAX: the port of no client is gone */
};

void egress_homes_init(struct egress_homes *homes);
void egress_homes_done(struct egress_homes *homes);

/*
 * Looks where it is not known, and everywhere in a round over all. Rows of the plan whose port is
 * another one are touched, so that they are written. Returns 0 or -errno.
 */
int egress_homes_follow(struct egress_engine *egress, const struct round *round);
