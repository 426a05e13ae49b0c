/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and blocks as several documents show them: RouteList, Plan, Explanation, ServiceList.
 */
#pragma once

#include <stdio.h>

#include "api/view.h"
#include "format/json.h"
#include "status/bird_reach.h"

/* Items of a RouteList. Offline (nothing is mirrored) they have no "installed". */
void write_address_route(struct json *json, const char *key, const struct api_state *state,
                         const struct address_row *row);
void write_block_route(struct json *json, const char *key, const struct api_state *state,
                       const struct block_row *row);
/* An item of a BlockList. */
void write_block(struct json *json, const char *key, const struct api_state *state,
                 const struct block_row *row);
/* An item of "direct": another node's block. */
void write_direct(struct json *json, const char *key, const struct api_state *state,
                  const struct direct_row *row);
/* The members of a claim, into an object that is open. */
void write_claim(struct json *json, const struct claim *claim);

/* Adds to the counts: addresses that are wanted announced, by whether peers get them. */
uint64_t count_reaches(const struct api_state *state, uint64_t counts[static REACHES]);

/* route_str(), with the name of the interface where it is known. */
const char *route_entry(const struct api_state *state, const struct route *route,
                        char buffer[static ROUTE_STRLEN]);

/* The row of an address, or NULL. */
const struct address_row *find_address_row(const struct route_plan *plan, const struct ip *address);

static inline const struct address_row *address_row_at(const struct route_plan *plan, size_t index)
{
    return *(struct address_row *const *)sorted_at(&plan->addresses, index);
}

static inline const struct block_row *block_row_at(const struct route_plan *plan, size_t index)
{
    return sorted_at(&plan->blocks, index);
}

/*
 * "state", "reason" and "reasonText" of a prefix in the export table: what the planner says, or
 * "blocked" where that is "announced" and a foreign route has the place.
 */
void write_route_state(struct json *json, const struct api_state *state,
                       const struct prefix *prefix, enum address_reason reason, const char *of);
/* The same of a pod block, which is always wanted: `text` says why. */
void write_block_state(struct json *json, const struct api_state *state, const struct prefix *block,
                       const char *text);

static inline const char *table_name(uint32_t table, char buffer[static 16])
{
    if (table == ROUTE_TABLE_MAIN)
        return "main";
    (void)snprintf(buffer, 16, "%u", table);
    return buffer;
}
