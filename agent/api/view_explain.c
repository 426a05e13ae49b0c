// SPDX-License-Identifier: Apache-2.0
/*
 * The document Explanation: one address, from the objects that name it through the plan to the
 * kernel. An address is known if a Service carries it or a pod block of this node covers it; both
 * can be true of a mistake, and then the Service's row speaks for it. Where neither is, NAT may
 * still know what becomes of its packets (view_explain_nat.c), or egress whose it is
 * (view_explain_egress.c), or a Node or a pod has it for its own (view_explain_holder.c), or it is
 * in another node's block ("direct", with routes.direct).
 *
 * "peers" is of the route that BIRD is to announce for it: the address itself, or its block.
 * "kernel" is read from the mirror alone: the entries of the export table, the guard table and
 * main that have exactly the address, or exactly its block or network of ClusterIPs, as
 * destination.
 */
#include "api/view.h"

#include <string.h>

#include "api/claims/view_addresses.h"
#include "api/claims/view_explain_holder.h"
#include "api/document.h"
#include "api/egress/view_explain_egress.h"
#include "api/host_faults.h"
#include "api/nat/view_explain_nat.h"
#include "api/pods/view_pods.h"
#include "api/pools/view_pools.h"
#include "api/routes/view_bgp.h"
#include "api/routes/view_routes.h"
#include "model/services/endpoint_slice.h"
#include "plan/routes/route_list.h"

/* A node has few blocks; that they may not nest is nowhere promised, so each is looked at. */
static const struct block_row *find_block(const struct route_plan *plan, const struct ip *address)
{
    for (size_t i = 0; i < plan->blocks.count; i++) {
        const struct block_row *row = block_row_at(plan, i);
        if (prefix_contains(&row->prefix, address))
            return row;
    }
    return NULL;
}

/* Of several, the narrowest. */
static const struct direct_row *find_direct(const struct route_plan *plan, const struct ip *address)
{
    const struct direct_row *best = NULL;
    sorted_each(const struct direct_row, row, &plan->direct) {
        if (prefix_contains(&row->prefix, address) &&
            (!best || row->prefix.length > best->prefix.length))
            best = row;
    }
    return best;
}

static void write_endpoint(struct json *json, const struct endpoint_slice *slice,
                           const struct endpoint *endpoint, const char *node)
{
    char buffer[IP_STRLEN];

    json_begin_object(json, NULL);
    json_string(json, "address", ip_str(&endpoint->ip, buffer));
    if (slice->port_count == 1 && slice->ports[0].port != 0)
        json_int(json, "port", slice->ports[0].port);
    else
        json_null(json, "port");
    json_string(json, "node", endpoint->node_name[0] ? endpoint->node_name : NULL);
    json_bool(json, "ready", endpoint->ready);
    json_bool(json, "serving", endpoint->serving);
    json_bool(json, "terminating", endpoint->terminating);
    json_bool(json, "local", strcmp(endpoint->node_name, node) == 0);
    json_end_object(json);
}

static void write_endpoints(struct json *json, const struct api_state *state,
                            const struct claim *claim, uint8_t family)
{
    size_t count = 0;
    const struct endpoint_slice *const *slices =
        store_slices_of(state->store, claim->namespace, claim->name, &count);

    json_begin_array(json, "endpoints");
    for (size_t i = 0; i < count; i++) {
        if (slices[i]->family != family)
            continue;
        for (uint32_t j = 0; j < slices[i]->endpoint_count; j++)
            write_endpoint(json, slices[i], &slices[i]->endpoints[j], state->config->node);
    }
    json_end_array(json);
}

static void write_service(struct json *json, const struct api_state *state,
                          const struct claim *claim, uint8_t family)
{
    const struct object *service =
        store_get(state->store, KIND_SERVICE, claim->namespace, claim->name);

    json_begin_object(json, NULL);
    write_claim(json, claim);
    write_reading_place(json, service);
    write_endpoints(json, state, claim, family);
    json_end_object(json);
}

static void write_kernel_routes(struct json *json, const struct api_state *state, uint32_t table,
                                const struct prefix *prefix)
{
    const struct sorted *installed = state->installed;
    const struct route key = { .table = table, .prefix = *prefix };
    char name[16], entry[ROUTE_STRLEN];

    for (size_t i = sorted_lower_bound(installed, &key); i < installed->count; i++) {
        const struct route *route = sorted_at(installed, i);
        if (route->table != table || prefix_cmp(&route->prefix, prefix) != 0)
            return;
        json_stringf(json, NULL, "table %s: %s", table_name(table, name),
                     route_entry(state, route, entry));
    }
}

static void write_kernel(struct json *json, const struct api_state *state, const struct ip *address,
                         const struct block_row *block)
{
    uint32_t tables[OURS_TABLES];
    const struct prefix host = ip_host_prefix(address);
    const struct direct_row *direct = find_direct(state->plan, address);

    ours_tables(state->config->routes.table, tables);
    json_begin_array(json, "kernel");
    for (size_t i = 0; state->installed && i < OURS_TABLES; i++) {
        if (block && prefix_cmp(&block->prefix, &host) != 0)
            write_kernel_routes(json, state, tables[i], &block->prefix);
        write_kernel_routes(json, state, tables[i], &host);
    }
    if (state->installed && direct && prefix_cmp(&direct->prefix, &host) != 0)
        write_kernel_routes(json, state, ROUTE_TABLE_MAIN, &direct->prefix);
    sorted_each(const struct net_row, net, &state->plan->nets) {
        if (state->installed && prefix_contains(&net->prefix, address) &&
            prefix_cmp(&net->prefix, &host) != 0)
            write_kernel_routes(json, state, net_route(state->plan, net).table, &net->prefix);
    }
    json_end_array(json);
}

/* Asked of the mirror, not of the plan: what BIRD may have learned. */
static bool is_installed(const struct api_state *state, const struct prefix *prefix)
{
    const uint32_t table = state->config->routes.table;
    const struct route key = { .table = table, .prefix = *prefix };
    if (!state->installed)
        return false;
    for (size_t i = sorted_lower_bound(state->installed, &key); i < state->installed->count; i++) {
        const struct route *route = sorted_at(state->installed, i);
        if (route->table != table || prefix_cmp(&route->prefix, prefix) != 0)
            return false;
        if (route_is_ours(route, table))
            return true;
    }
    return false;
}

/* `known`: nothing is announced for it, but NAT has a reason to know it. */
static void write_verdict(struct json *json, const struct api_state *state,
                          const struct address_row *row, const struct block_row *block,
                          const char *known, const char *known_text)
{
    if (row) {
        const struct prefix prefix = ip_host_prefix(&row->address);
        write_route_state(json, state, &prefix, row->reason, row->of);
    } else if (!block) {
        json_string(json, "state", "none");
        json_string(json, "reason", known);
        json_string(json, "reasonText", known_text);
    } else {
        write_block_state(json, state, &block->prefix, "in a pod block of this node");
    }
}

static void write_route(struct json *json, const struct api_state *state,
                        const struct address_row *row, const struct block_row *block)
{
    if (row)
        write_address_route(json, "route", state, row);
    else if (block)
        write_block_route(json, "route", state, block);
    else
        json_null(json, "route");
}

static void write_peers(struct json *json, const struct api_state *state, const struct ip *address,
                        const struct address_row *row, const struct block_row *block)
{
    const struct prefix exported = row || !block ? ip_host_prefix(address) : block->prefix;

    write_peer_exports(json, &state->status->bird, &exported, is_installed(state, &exported));
}

/* What else knows of it, if neither route nor block is of it. */
static const char *ask_others(const struct api_state *state, const struct ip *address,
                              const char **ret_text)
{
    const char *known = nat_knows_address(state, address, ret_text);
    if (!known)
        known = egress_knows_address(state, address, ret_text);
    if (!known)
        known = pool_knows_address(state, address, ret_text);
    if (!known)
        known = claim_knows_address(state, address, ret_text);
    if (!known)
        known = holder_knows_address(state, address, ret_text);
    if (known || !find_direct(state->plan, address))
        return known;
    *ret_text = "it is in a block of another node's";
    return "other-block";
}

static void write_direct_of(struct json *json, const struct api_state *state,
                            const struct ip *address)
{
    const struct direct_row *row = find_direct(state->plan, address);
    if (row)
        write_direct(json, "direct", state, row);
    else
        json_null(json, "direct");
}

/* Known as an address that node ports are served on. */
static bool is_node_port(const char *known)
{
    return known && strcmp(known, "node-port") == 0;
}

bool view_explain(const struct api_state *state, const struct explain_query *query,
                  struct text *out)
{
    const struct ip *address = &query->address;
    const struct address_row *row = find_address_row(state->plan, address);
    const struct block_row *block = find_block(state->plan, address);
    const char *text = NULL, *known = ask_others(state, address, &text);
    char buffer[IP_STRLEN];

    if (!row && !block && !known)
        return false;
    struct json json = view_begin(out, "Explanation");
    json_string(&json, "address", ip_str(address, buffer));
    write_verdict(&json, state, row, block, known, text);
    if (block)
        write_block(&json, "block", state, block);
    else
        json_null(&json, "block");
    write_route(&json, state, row, block);
    write_direct_of(&json, state, address);
    write_pool_explanation(&json, state, address);
    json_begin_array(&json, "services");
    for (uint32_t i = 0; row && i < row->claim_count; i++)
        write_service(&json, state, &row->claims[i], address->family);
    json_end_array(&json);
    write_claim_explanation(&json, state, address);
    write_holder(&json, state, address);
    write_pod_interface(&json, state, address);
    write_nat_explanation(&json, state, query);
    write_egress_explanation(&json, state, address);
    const struct copy_status *copy = &state->status->copy;
    json_time(&json, "copyAsOf", copy->in_force ? copy->as_of_wall_ms : 0);
    write_peers(&json, state, address, row, block);
    write_kernel(&json, state, address, block);
    write_host_faults(&json, state, row || is_node_port(known) ? address : NULL);
    view_end(&json);
    return true;
}
