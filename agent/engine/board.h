/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board: what one part of the agent has found out and others plan by. Each entry has one
 * writer, named beside it; everybody may read. It lives as long as the engines do.
 */
#pragma once

#include "base/sorted.h"
#include "plan/link_table.h"
#include "plan/route_inputs.h"

struct board {
    enum standing standing;          /* agentd/standing.c: how this node stands to the network */
    struct nat_way way;              /* NAT: svc0; ifindex 0: NAT is off, or svc0 is not there */
    struct default_sources defaults; /* NAT: this node's addresses towards the default routes */
    const struct sorted *proofs;     /* NAT: struct proof, by address; NULL: nothing is proved */
};
