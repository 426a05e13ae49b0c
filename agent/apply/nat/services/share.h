/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may take how much of the maps that all Services share. A namespace is a pod interface: it can
 * fill its share of a map, and what is free, but not what others need to go on.
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

/* How much of each a Service or a namespace has, by enum nat_id and NAT_SHARED_*. */
struct nat_use {
    uint64_t of[NAT_SHARED_COUNT];
};

/* One map from the point of view of one change. */
struct nat_part {
    uint32_t reserve;   /* as much has to stay free when the change takes what it needs */
    bool over;          /* its namespace would have more than the share */
    uint64_t has, fair; /* what the namespace would have, and its share */
};

/* A pod interface's share of a map. Pure. */
uint32_t nat_share_fair(uint32_t limit, uint32_t pod_interfaces);

/* How much of a map a change leaves free. Pure. */
uint32_t nat_share_reserve(uint32_t limit, bool over, bool grows);

struct nat_change;

/*
 * Judges a change before its first write, and says in change->parts what it has to leave free while
 * it goes on. Returns 0, -EDQUOT if the namespace has too much of a map to grow, or -ENOSPC; then
 * change->at is that map.
 */
int nat_share_judge(struct nat_change *change);

enum nat_map_index nat_share_map(int shared);
