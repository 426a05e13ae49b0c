/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of the planner in the form of the maps, as far as that is possible without ids: the wanted
 * contents of the maps. Pure.
 */
#pragma once

#include "apply/nat/services/installed.h"

/* All nibbles are DROP: the outcome of a port for the kinds of frontend that it does not have. */
#define NAT_OUTCOMES_NONE 0x222222222222ull

typedef VEC(uint32_t) nat_place_list; /* indexes of nat_desired.endpoints, in order */

struct nat_desired_port {
    const struct nat_port *port; /* borrowed from the row */
    uint64_t owner;              /* as in nat_port_value, without the service */
    uint64_t outcomes;
    nat_place_list sets[NAT_SETS];
    nat_place_list serving; /* all, in a set or not */
    size_t like[NAT_SETS];  /* the first port that has the same set: its slots serve both */
};

struct nat_desired {
    char name[NAT_NAME_MAX];
    uint64_t flags;                     /* of the service word: ranges, affinity */
    VEC(struct nat_desired_port) ports; /* by owner, as nat_installed.ports */
    VEC(struct nat_stored) endpoints;   /* of all ports, sorted, each once */
    nat_entry_list entries; /* `port` is an index of `ports`, plus 1; 0: of an address alone */
    nat_range_list ranges;
};

/* Returns 0, -ENOMEM or -ENAMETOOLONG; to be freed in any case. */
int nat_desired_make(const struct nat_row *row, struct nat_desired *desired);
void nat_desired_done(struct nat_desired *desired);
#define AUTOWISH CLEANUP(nat_desired_done)
