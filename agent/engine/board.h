/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board: facts that one part of the agent determines and other parts use for planning. Each
 * entry has one writer, named beside it; every part may read it. The board lives as long as the
 * engines do.
 */
#pragma once

#include "base/sorted.h"
#include "plan/link_table.h"
#include "plan/routes/route_inputs.h"

struct nat_datapath;

struct board {
    enum standing standing; /* standing/standing.h: whether this node takes part in service */
    struct nat_svc0 leads;  /* NAT: to svc0; ifindex 0: NAT is off, or svc0 is not there */
    struct default_sources defaults; /* NAT: source addresses of this node for its default routes */
    const struct sorted *proofs;     /* NAT: struct proof, by address; NULL: nothing is proved */
    const struct sorted *service_proofs;         /* NAT: struct service_proof; NULL: likewise */
    const struct gateway_proofs *gateway_proofs; /* egress: proofs of its gateway's addresses */
    const struct sorted *service_events; /* events: struct service_event *; NULL: no engine */
    struct nat_datapath *nat_datapath;   /* NAT: its datapath; NULL: off, or failed to open */
};
