/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NAT on top of state.h: rows by the real planner from a few more objects, and live maps that say
 * what a test puts into them.
 */
#pragma once

#include "plan/link_table.h"
#include "state.h"

struct made_nat {
    struct made_state *state;
    struct sorted rows, links;
    struct nat_live live;
    /* What the live maps say. Ids: 1 default/web, 2 default/idle, 3 gone since. */
    nat_refusal_list refusals;
    VEC(struct nat_flow_view) flows;
    struct nat_map_use maps[2];
    const char *differences[2][2]; /* service, text; NULL ends */
    int error;                     /* of refusals(), each_flow() and verify() */
    struct nat_proof proof;        /* of its address */
    size_t names_asked;
};

/* Turns NAT on in the state. */
struct made_nat *made_nat_new(struct made_state *state);
void made_nat_free(struct made_nat *nat);

void made_refusal(struct made_nat *nat, uint32_t service, enum nat_cause cause, uint64_t count,
                  int64_t ago_ms, const char *destination);
/* From 10.0.2.5:43122 to 10.96.0.1:80/TCP and on. */
struct nat_flow_view *made_flow(struct made_nat *nat, uint32_t service, const char *endpoint);

/* As a document has one; `at`: the end of its time. */
#define REFUSAL(service, reason, text, count, destination, at)                             \
    "{'service':" service ",'reason':'" reason "','reasonText':'" text "','count':" #count \
    ",'last':{'source':'10.0.2.5:43122','destination':'" destination "','protocol':'TCP'," \
    "'interface':'eth0','at':'2026-11-20T07:" at "Z'}}"
