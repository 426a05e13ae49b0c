/* SPDX-License-Identifier: Apache-2.0 */
/* What several documents of view.h have in common. Only view_*.c include this. */
#pragma once

#include <stdio.h>

#include "api/view.h"
#include "base/fault.h"
#include "format/json.h"

/* The outermost object with "apiVersion" and "kind". */
struct json view_begin(struct text *out, const char *kind);
void view_end(struct json *json);

/* One item of a fault list; `since_wall_ms` 0 gives null. */
void write_fault(struct json *json, const char *subsystem, const char *group,
                 const struct fault *fault, int64_t since_wall_ms);
/* "faults" or "items": all faults that hold now. */
void write_held_faults(struct json *json, const char *key, const struct fault_book *book);

/* Items of a RouteList. Offline (nothing is mirrored) they have no "installed". */
void write_address_route(struct json *json, const char *key, const struct api_state *state,
                         const struct address_row *row);
void write_block_route(struct json *json, const char *key, const struct api_state *state,
                       const struct block_row *row);
/* An item of a BlockList. */
void write_block(struct json *json, const char *key, const struct api_state *state,
                 const struct block_row *row);
/* The members of a claim, into an object that is open. */
void write_claim(struct json *json, const struct claim *claim);

/* "nat" of a Plan: rows of struct nat_row *. */
void write_nat(struct json *json, const struct sorted *rows);

/* "bgp" of a Status. */
void write_bgp(struct json *json, const struct bird_status *bird);
/* "peers" of an Explanation: to whom a prefix goes; `stands`: it is in the kernel for BIRD. */
void write_peer_exports(struct json *json, const struct bird_status *bird,
                        const struct prefix *prefix, bool stands);

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

/* For CLEANUP(). */
void route_list_done(route_list *list);
void rule_list_done(rule_list *list);

/* "announced" or "withheld". */
static inline const char *reason_state(enum address_reason reason)
{
    return reason == REASON_ANNOUNCED ? "announced" : "withheld";
}

static inline const char *table_name(uint32_t table, char buffer[static 16])
{
    if (table == ROUTE_TABLE_MAIN)
        return "main";
    (void)snprintf(buffer, 16, "%u", table);
    return buffer;
}
