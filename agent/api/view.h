/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API's documents. Each function writes one JSON document into `out`; agentctl links the same
 * functions for its offline verbs, so that `plan` and the API share one schema.
 *
 * Every document has "apiVersion": "v1" and a "kind"; lists have "items". Fields are never
 * renamed, only added.
 */
#pragma once

#include <stdint.h>

#include "api/claims/claims_live.h"
#include "api/egress/egress_live.h"
#include "api/nat/nat_live.h"
#include "api/pods/pods_live.h"
#include "base/net/ip.h"
#include "base/net/protocol.h"
#include "base/sorted.h"
#include "base/text.h"
#include "config/config.h"
#include "config/controller_config.h"
#include "plan/egress/egress.h"
#include "plan/export/export_plan.h"
#include "plan/nat/nat.h"
#include "plan/pools/assignment.h"
#include "plan/routes/route_table.h"
#include "plan/routes/routes.h"
#include "pools/allocator.h"
#include "status/status.h"
#include "store/store.h"

/* What is exported by a controller of these settings. */
struct planned_exports {
    struct controller_config *config; /* NULL: it was not asked for */
    struct export_plan plan;
    bool planned; /* `plan` is one */
};

/* All borrowed. `installed` and `rules` are the kernel's mirror (NULL offline). */
struct api_state {
    const struct status *status;
    const struct config *config;
    const struct store *store;
    const struct route_plan *plan;
    const struct sorted *installed;         /* struct route */
    const struct sorted *rules;             /* struct rule */
    const struct sorted *links;             /* struct link: names of interfaces; NULL: not known */
    const struct sorted *nat;               /* struct nat_row *; NULL: NAT is off */
    const struct pool_table *pools;         /* NULL: nobody gives addresses here */
    const struct assignments *assignments;  /* likewise */
    const struct pool_allocator *allocator; /* to whom both belong; NULL also offline */
    const struct egress_plan *egress;       /* NULL: egress is off, or not planned */
    const struct nat_live *live;            /* NULL: NAT is off, or there is no kernel to ask */
    const struct egress_live *egress_live;  /* NULL: the same of egress */
    const struct planned_exports *exports;  /* offline: what the controller would export; or NULL */
    const struct claims_live *claims;       /* NULL: offline; without rows: nothing is claimed */
    const struct pods_live *pods;           /* NULL: this agent gives pods no addresses */
    const struct sorted
        *chained; /* struct pod_attachment: behind other plugins; NULL: egress is off */
};

/* "starting", "healthy", "degraded", "failed". */
const char *view_health(const struct api_state *state);

void view_status(const struct api_state *state, struct text *out);
/* Every address considered and every block, with reason and what the kernel has. */
void view_routes(const struct api_state *state, struct text *out);
void view_blocks(const struct api_state *state, struct text *out);
/* BIRD's BGP sessions, in its order. */
void view_peers(const struct api_state *state, struct text *out);
void view_services(const struct api_state *state, struct text *out);
void view_config(const struct api_state *state, struct text *out);
void view_diff(const struct api_state *state, struct text *out);

struct explain_query {
    struct ip address;
    uint16_t port;          /* of frontends; 0: all of them */
    enum protocol protocol; /* 0: any */
};

/* False if nothing is known of the address (no document is written then). */
bool view_explain(const struct api_state *state, const struct explain_query *query,
                  struct text *out);

/* Those below ask the live maps; they are for a state that has `nat` and `live`. */

/* Endpoints and who may be sent to them, of one Service or all (NULL). False: no such Service. */
bool view_backends(const struct api_state *state, const char *service, struct text *out);
/* At most `limit` flows, of one Service ("namespace/name") or all (NULL). False: no such Service.
 */
bool view_flows(const struct api_state *state, const char *service, size_t limit, struct text *out);
void view_maps(const struct api_state *state, struct text *out);
/* Where maps and hooks differ from what the objects demand. */
void view_verify(const struct api_state *state, struct text *out);

/* The kernel tables that the plan asks for, as lines of `ip route`; and the plans of NAT and
 * egress. */
void view_plan(const struct api_state *state, const struct faults *faults, struct text *out);

/* Egress as it is: Egresses and their gateways, what this node is as one, what was dropped. */
void view_egress(const struct api_state *state, struct text *out);

/* Pools, who has their addresses, and who lacks one; for a state that has `allocator`. */
void view_pools(const struct api_state *state, struct text *out);

/* Pods, blocks and pools of this node; for a state that has `pods`. */
void view_pods(const struct api_state *state, struct text *out);

/* Claimed addresses; for a state that has `claims` with rows. */
void view_addresses(const struct api_state *state, struct text *out);

/* Prometheus text format 0.0.4. */
void view_metrics(const struct api_state *state, struct text *out);
