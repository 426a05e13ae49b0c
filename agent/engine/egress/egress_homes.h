/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the bridge port behind which each client of this node is, so that the programs need not
 * learn it from packets. Internal to engine/egress/.
 */
#pragma once

#include "apply/netlink/nl.h"
#include "base/sorted.h"
#include "loop/backoff.h"

struct egress_engine;
struct round;

struct egress_homes {
    struct nl_socket *socket; /* NULL: not needed so far */
    struct sorted ports;      /* struct egress_home_port, of egress_homes.c */
    struct sorted found;      /* struct port_address: only those of clients */
    struct sorted homes;      /* struct egress_home: as written to the datapath */
    struct backoff retry;
    int64_t retry_ms; /* monotonic; INT64_MAX: no client's port is missing */
};

void egress_homes_init(struct egress_homes *homes);
void egress_homes_done(struct egress_homes *homes);

/*
 * Reads the ports that are not known, and all of them in a round over all. Rows of the plan whose
 * port changed are marked as touched, so that they are written. Returns 0 or -errno.
 */
int egress_homes_follow(struct egress_engine *egress, const struct round *round);
