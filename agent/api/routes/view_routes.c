// SPDX-License-Identifier: Apache-2.0
/*
 * The documents RouteList and BlockList: intent (the plan's rows) beside truth (the mirror).
 *
 * "installed" is what the kernel has in the export table, whatever the plan says: of an announced
 * row the very route it asks for, of a withheld one any route of ours to the prefix. So an address
 * that is withheld and installed at once is seen as what it is, a route still to be taken away.
 * Guards (table 120 and main) are not part of it; they show in the Diff. "direct" has the blocks of
 * other nodes, where routes.direct is on.
 *
 * Blocks come first, then addresses, each in the order of the plan.
 */
#include "api/routes/view_routes.h"

#include "api/document.h"
#include "api/host_faults.h"
#include "api/pods/view_pods.h"
#include "api/routes/view_bgp.h"
#include "api/view.h"
#include "base/clock.h"
#include "plan/link_table.h"
#include "plan/routes/route_list.h"

/* `protocol` 0: any of ours. A slot is a few entries wide at most: ours and foreign ones. */
static bool has_export_route(const struct api_state *state, const struct prefix *prefix,
                             uint8_t protocol)
{
    const struct route key = { .table = state->config->routes.table, .prefix = *prefix };

    for (size_t i = sorted_lower_bound(state->installed, &key); i < state->installed->count; i++) {
        const struct route *route = sorted_at(state->installed, i);
        if (route->table != key.table || prefix_cmp(&route->prefix, prefix) != 0)
            return false;
        if (route_is_ours(route, key.table) && (protocol == 0 || route->protocol == protocol))
            return true;
    }
    return false;
}

static void write_installed(struct json *json, const struct api_state *state,
                            const struct prefix *prefix, uint8_t protocol)
{
    if (state->installed)
        json_bool(json, "installed", has_export_route(state, prefix, protocol));
}

static void write_route_reach(struct json *json, const struct api_state *state,
                              const struct prefix *prefix, bool wanted, uint8_t protocol)
{
    if (state->installed)
        write_reach(json, &state->status->bird, prefix, wanted,
                    has_export_route(state, prefix, protocol));
}

/* The foreign route in the slot of a route of ours; NULL: there is none, or it is ours. */
static const struct route *find_foreign(const struct api_state *state, const struct prefix *prefix)
{
    const uint32_t table = state->config->routes.table;
    const struct route slot = {
        .table = table,
        .prefix = *prefix,
        .metric = prefix->ip.family == IP_V4 ? ROUTE_METRIC_V4 : ROUTE_METRIC_V6,
    };
    const size_t at = state->installed ? sorted_lower_bound(state->installed, &slot) : 0;
    if (!state->installed || at == state->installed->count)
        return NULL;
    const struct route *route = sorted_at(state->installed, at);
    return route_slot_cmp(route, &slot) == 0 && !route_is_ours(route, table) ? route : NULL;
}

/* "reason" and "reasonText"; `of`: what it is about, or "". */
static void write_reason(struct json *json, enum address_reason reason, const char *of)
{
    char text[REASON_STRLEN];

    json_string(json, "reason", address_reason_name(reason));
    json_string(json, "reasonText", address_reason_about(reason, of, text));
}

void write_route_state(struct json *json, const struct api_state *state,
                       const struct prefix *prefix, enum address_reason reason, const char *of)
{
    const struct route *foreign = reason == REASON_ANNOUNCED ? find_foreign(state, prefix) : NULL;
    char entry[ROUTE_STRLEN];
    if (!foreign) {
        json_string(json, "state", reason == REASON_ANNOUNCED ? "announced" : "withheld");
        write_reason(json, reason, of);
        return;
    }
    json_string(json, "state", "blocked");
    json_string(json, "reason", "foreign-route");
    json_stringf(json, "reasonText", "a foreign route has its place in table %u: %s",
                 state->config->routes.table, route_entry(state, foreign, entry));
}

void write_claim(struct json *json, const struct claim *claim)
{
    json_string(json, "namespace", claim->namespace);
    json_string(json, "name", claim->name);
    json_string(json, "origin", address_origin_name(claim->origin));
    write_reason(json, claim->reason, claim->of);
    json_int(json, "ports", claim->ports);
    json_int(json, "forwarding", claim->forwarding);
}

static void write_hold(struct json *json, int64_t held_until_ms)
{
    if (held_until_ms == 0) {
        json_null(json, "heldForMs");
        return;
    }
    int64_t left_ms = held_until_ms - clock_mono_ms();
    json_int(json, "heldForMs", left_ms > 0 ? left_ms : 0);
}

void write_address_route(struct json *json, const char *key, const struct api_state *state,
                         const struct address_row *row)
{
    const struct prefix prefix = ip_host_prefix(&row->address);
    const bool announced = row->reason == REASON_ANNOUNCED;
    char buffer[PREFIX_STRLEN];

    json_begin_object(json, key);
    json_string(json, "prefix", prefix_str(&prefix, buffer));
    json_string(json, "kind", row->gateway ? "gateway" : "service");
    write_route_state(json, state, &prefix, row->reason, row->of);
    if (announced)
        json_int(json, "protocol", row->protocol);
    else
        json_null(json, "protocol");
    json_int(json, "table", state->config->routes.table);
    write_installed(json, state, &prefix, announced ? row->protocol : 0);
    json_bool(json, "guarded", row->guarded);
    write_route_reach(json, state, &prefix, announced, row->protocol);
    write_host_fault_places(json, state, &row->address, announced && !row->gateway);
    write_hold(json, row->held_until_ms);
    json_begin_array(json, "objects");
    for (uint32_t i = 0; i < row->claim_count; i++) {
        json_begin_object(json, NULL);
        write_claim(json, &row->claims[i]);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void write_block_state(struct json *json, const struct api_state *state, const struct prefix *block,
                       const char *text)
{
    if (find_foreign(state, block)) {
        write_route_state(json, state, block, REASON_ANNOUNCED, NULL);
        return;
    }
    json_string(json, "state", "announced");
    json_string(json, "reason", address_reason_name(REASON_ANNOUNCED));
    json_string(json, "reasonText", text);
}

void write_block_route(struct json *json, const char *key, const struct api_state *state,
                       const struct block_row *row)
{
    char buffer[PREFIX_STRLEN];

    json_begin_object(json, key);
    json_string(json, "prefix", prefix_str(&row->prefix, buffer));
    json_string(json, "kind", "block");
    write_block_state(json, state, &row->prefix, "a pod block of this node");
    json_int(json, "protocol", ROUTE_PROTOCOL_BLOCK);
    json_int(json, "table", state->config->routes.table);
    write_installed(json, state, &row->prefix, ROUTE_PROTOCOL_BLOCK);
    json_bool(json, "guarded", true);
    write_route_reach(json, state, &row->prefix, true, ROUTE_PROTOCOL_BLOCK);
    write_host_fault_places(json, state, &row->prefix.ip, false);
    json_null(json, "heldForMs");
    json_begin_array(json, "objects");
    json_begin_object(json, NULL);
    json_string(json, "name", row->block);
    json_string(json, "pool", row->pool);
    json_bool(json, "reserved", row->reserved);
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
}

void write_block(struct json *json, const char *key, const struct api_state *state,
                 const struct block_row *row)
{
    char buffer[PREFIX_STRLEN];

    json_begin_object(json, key);
    json_string(json, "name", row->block);
    json_string(json, "pool", row->pool);
    json_string(json, "prefix", prefix_str(&row->prefix, buffer));
    json_bool(json, "reserved", row->reserved);
    json_int(json, "protocol", ROUTE_PROTOCOL_BLOCK);
    write_installed(json, state, &row->prefix, ROUTE_PROTOCOL_BLOCK);
    write_block_fill(json, state, row->block);
    json_end_object(json);
}

const struct address_row *find_address_row(const struct route_plan *plan, const struct ip *address)
{
    const struct address_row wanted = { .address = *address }, *key = &wanted;
    struct address_row *const *row = sorted_find(&plan->addresses, &key);
    return row ? *row : NULL;
}

uint64_t count_reaches(const struct api_state *state, uint64_t counts[static REACHES])
{
    uint64_t blocked = 0;
    for (size_t i = 0; i < state->plan->addresses.count; i++) {
        const struct address_row *row = address_row_at(state->plan, i);
        const struct prefix prefix = ip_host_prefix(&row->address);
        if (row->reason != REASON_ANNOUNCED)
            continue;
        bool installed = state->installed && has_export_route(state, &prefix, row->protocol);
        counts[bird_reach(&state->status->bird, &prefix, installed).reach]++;
        blocked += !installed && find_foreign(state, &prefix);
    }
    return blocked;
}

static bool is_direct_installed(const struct api_state *state, const struct direct_row *row)
{
    struct route route;
    return direct_route(row, &route) && state->installed && sorted_find(state->installed, &route);
}

void write_direct(struct json *json, const char *key, const struct api_state *state,
                  const struct direct_row *row)
{
    const struct link *link =
        state->links && row->ifindex ? link_find(state->links, row->ifindex) : NULL;
    char buffer[PREFIX_STRLEN];

    json_begin_object(json, key);
    json_string(json, "prefix", prefix_str(&row->prefix, buffer));
    json_string(json, "block", row->block);
    json_string(json, "node", row->node);
    json_string(json, "via", row->via.family == IP_NONE ? NULL : ip_str(&row->via, buffer));
    json_string(json, "interface", link ? link->name : NULL);
    json_bool(json, "installed", is_direct_installed(state, row));
    json_string(json, "reason", direct_reason_name(row->reason));
    json_string(json, "reasonText", direct_reason_text(row->reason));
    json_end_object(json);
}

static void write_directs(struct json *json, const struct api_state *state)
{
    json_begin_array(json, "direct");
    sorted_each(const struct direct_row, row, &state->plan->direct)
        write_direct(json, NULL, state, row);
    json_end_array(json);
}

void view_routes(const struct api_state *state, struct text *out)
{
    struct json json = view_begin(out, "RouteList");

    json_begin_array(&json, "items");
    for (size_t i = 0; i < state->plan->blocks.count; i++)
        write_block_route(&json, NULL, state, block_row_at(state->plan, i));
    for (size_t i = 0; i < state->plan->addresses.count; i++)
        write_address_route(&json, NULL, state, address_row_at(state->plan, i));
    json_end_array(&json);
    write_directs(&json, state);
    view_end(&json);
}

void view_blocks(const struct api_state *state, struct text *out)
{
    struct json json = view_begin(out, "BlockList");

    json_begin_array(&json, "items");
    for (size_t i = 0; i < state->plan->blocks.count; i++)
        write_block(&json, NULL, state, block_row_at(state->plan, i));
    json_end_array(&json);
    view_end(&json);
}

const char *route_entry(const struct api_state *state, const struct route *route,
                        char buffer[static ROUTE_STRLEN])
{
    const struct link *link =
        state->links && route->ifindex ? link_find(state->links, route->ifindex) : NULL;
    return link ? route_str_via(route, link->name, buffer) : route_str(route, buffer);
}
