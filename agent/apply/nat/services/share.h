/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotas in the maps that all Services share. A namespace can use its quota of a map, and free
 * room, but not the reserve that others need to continue.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/nat/services/ids.h"
#include "bpf/abi.h"

/* What is shared: ids of each kind, and entries of two tables. */
enum {
    NAT_SHARED_FRONTENDS = NAT_ID_KINDS,
    NAT_SHARED_RANGES,
    NAT_SHARED_COUNT,
    NAT_SHARED_TABLES = NAT_SHARED_COUNT - NAT_ID_KINDS,
};

/* The use of each by a Service or a namespace, by enum nat_id and NAT_SHARED_*. */
struct nat_use {
    uint64_t of[NAT_SHARED_COUNT];
};

/* One map from the point of view of one change. */
struct nat_part {
    uint32_t reserve;   /* this much must stay free after the change has allocated what it needs */
    bool over;          /* its namespace would exceed its quota */
    uint64_t has, fair; /* the use of the namespace after the change, and its quota */
};

/* A namespace's quota of a map. Pure. */
uint32_t nat_share_fair(uint32_t limit, uint32_t pod_interfaces);

/* How much of a map a change leaves free. Pure. */
uint32_t nat_share_reserve(uint32_t limit, bool over, bool grows);

struct nat_change;

/*
 * Checks a change before its first write, and sets in change->parts how much it has to leave free
 * while it continues. Returns 0, -EDQUOT if the namespace has too much of a map to grow, or
 * -ENOSPC; then change->at is that map.
 */
int nat_share_judge(struct nat_change *change);

enum nat_map_index nat_share_map(int shared);
