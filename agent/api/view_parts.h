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

/* Items of a RouteList. Offline (nothing is mirrored) they have no "installed". */
void write_address_route(struct json *json, const char *key, const struct api_state *state,
                         const struct address_row *row);
void write_block_route(struct json *json, const char *key, const struct api_state *state,
                       const struct block_row *row);
/* An item of a BlockList. */
void write_block(struct json *json, const char *key, const struct api_state *state,
                 const struct block_row *row);
/* "source", "file" and "line" of an object; all null of one that is gone (NULL), the latter two of
 * one that the Kubernetes API has given. */
void write_reading_place(struct json *json, const struct object *object);
/* The members of a claim, into an object that is open. */
void write_claim(struct json *json, const struct claim *claim);

/* "nat" of a Plan: rows of struct nat_row *. */
void write_nat(struct json *json, const struct sorted *rows);
/* The members of a frontend, into an object that is open. */
void write_frontend_members(struct json *json, const struct nat_family *family,
                            const struct nat_frontend *frontend);
/* "10.0.0.1:80", "[fd00::1]:80". */
void write_socket(struct json *json, const char *key, const struct ip *ip, uint16_t port);
/* "TCP"; the number of one without a name. */
void write_protocol(struct json *json, const char *key, uint8_t number);

/* "nat" of a Status. */
void write_nat_status(struct json *json, const struct api_state *state);
/* Items of a Verification, as "items" or "nat". Returns their number. */
size_t write_nat_differences(struct json *json, const char *key, const struct api_state *state);
/* "nat" of an Explanation. */
void write_nat_explanation(struct json *json, const struct api_state *state,
                           const struct explain_query *query);
/* The metrics of NAT; none where it is off. */
void write_kube_metrics(const struct api_state *state, struct text *out);
void write_nat_metrics(const struct api_state *state, struct text *out);
/* Why an address that is in no route's row is known to NAT all the same; NULL: it is not. */
const char *nat_knows_address(const struct api_state *state, const struct ip *address,
                              const char **ret_text);

/* The row of a Service, or NULL. */
const struct nat_row *find_nat_row(const struct sorted *rows, const char *namespace,
                                   const char *name);
/* The same by "namespace/name". */
const struct nat_row *find_nat_row_of(const struct sorted *rows, const char *service);

/* "bgp" of a Status. */
void write_bgp(struct json *json, const struct bird_status *bird);
/* "peers" of an Explanation: to whom a prefix goes; `stands`: it is in the kernel for BIRD. */
void write_peer_exports(struct json *json, const struct bird_status *bird,
                        const struct prefix *prefix, bool stands);

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

static inline const struct nat_row *nat_row_at(const struct sorted *rows, size_t index)
{
    return *(struct nat_row *const *)sorted_at(rows, index);
}

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
