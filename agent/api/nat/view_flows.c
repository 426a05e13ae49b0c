// SPDX-License-Identifier: Apache-2.0
/*
 * The document FlowList: connections as the flow tables have them, in the tables' order, which is
 * none. They change while they are read; a list is a sample, no snapshot.
 *
 * One walk is bounded, because it holds up the event loop: "truncated" tells that there may be
 * more. A Service's id is turned into its name once for each run of flows of the same Service.
 */
#include "api/view.h"

#include <errno.h>
#include <string.h>

#include "api/document.h"
#include "api/nat/view_nat.h"
#include "base/ours.h"
#include "model/node.h"

enum { FLOWS_LOOKED_AT = 131072 };

struct walk {
    struct json *json;
    const struct store *store;
    const struct nat_live *live;
    const char *service; /* wanted; NULL: any */
    size_t left, looked_at;
    bool truncated;
    uint32_t id; /* whose name is `name` */
    char name[NAT_NAME_MAX];
};

static const char *name_of(struct walk *walk, uint32_t id)
{
    if (id == 0)
        return "";
    if (id != walk->id) {
        (void)walk->live->service_name(walk->live->context, id, walk->name);
        walk->id = id;
    }
    return walk->name;
}

/* Whose address the agent's own packets have: another Node's, or one that is nobody's. */
static bool is_asker(const struct store *store, const struct ip *ip)
{
    static const struct ip strangers[] = { { IP_V4, { 192, 0, 2, 1 } },
                                           { IP_V6, { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } } };
    const struct object *object;
    if (ip_equal(ip, &strangers[ip->family == IP_V6]))
        return true;
    for (size_t cursor = 0; (object = store_next(store, KIND_NODE, &cursor));) {
        const struct node *node = to_node(object);
        if (ip_equal(ip, ip->family == IP_V6 ? &node->primary_v6 : &node->primary_v4))
            return true;
    }
    return false;
}

/* Whether it is by all signs a packet of the agent's own: nat_firewall.c. */
static bool is_own(const struct store *store, const struct nat_flow_view *flow)
{
    return flow->direct && flow->service == 0 &&
           (flow->client_port == OURS_ASKING_PORT || flow->client_port == OURS_ANSWERED_PORT) &&
           is_asker(store, &flow->client);
}

static const char *state_name(const struct nat_flow_view *flow)
{
    return flow->direct ? "direct" : nat_state_name(flow->state);
}

static void write_masquerade(struct json *json, const struct nat_flow_view *flow)
{
    if (flow->hairpin)
        json_string(json, "masquerade", "hairpin");
    else
        json_bool(json, "masquerade", flow->masqueraded);
}

static void write_direction(struct json *json, const char *key, const struct nat_flow_view *flow,
                            int direction)
{
    json_begin_object(json, key);
    json_int(json, "packets", (int64_t)flow->packets[direction]);
    json_int(json, "bytes", (int64_t)flow->bytes[direction]);
    json_end_object(json);
}

static void write_flow(struct json *json, const struct nat_flow_view *flow, const char *service,
                       bool own)
{
    const bool rewritten =
        !ip_equal(&flow->source, &flow->client) || flow->source_port != flow->client_port;

    json_begin_object(json, NULL);
    json_string(json, "service", *service ? service : NULL);
    write_protocol(json, "protocol", flow->protocol);
    write_socket(json, "client", &flow->client, flow->client_port);
    write_socket(json, "address", &flow->address, flow->address_port);
    write_socket(json, "endpoint", &flow->endpoint, flow->endpoint_port);
    if (rewritten)
        write_socket(json, "source", &flow->source, flow->source_port);
    else
        json_null(json, "source");
    write_masquerade(json, flow);
    json_string(json, "state", state_name(flow));
    json_bool(json, "stale", flow->stale);
    json_int(json, "idleSeconds", flow->idle_s);
    write_direction(json, "toEndpoint", flow, 0);
    write_direction(json, "fromEndpoint", flow, 1);
    if (own)
        json_bool(json, "own", true);
    json_end_object(json);
}

static int on_flow(const struct nat_flow_view *flow, void *context)
{
    struct walk *walk = context;
    const char *service = name_of(walk, flow->service);

    walk->looked_at++;
    if (walk->service && strcmp(walk->service, service) != 0)
        return 0;
    if (walk->left == 0) {
        walk->truncated = true;
        return 1;
    }
    walk->left--;
    write_flow(walk->json, flow, service, is_own(walk->store, flow));
    return 0;
}

bool view_flows(const struct api_state *state, const char *service, size_t limit, struct text *out)
{
    struct json json = view_begin(out, "FlowList");
    struct walk walk = {
        .json = &json,
        .store = state->store,
        .live = state->live,
        .service = service,
        .left = limit,
    };

    json_begin_array(&json, "items");
    int r = state->live->each_flow(state->live->context, FLOWS_LOOKED_AT, on_flow, &walk);
    json_end_array(&json);
    json_bool(&json, "truncated", r < 0 || walk.truncated || walk.looked_at >= FLOWS_LOOKED_AT);
    view_end(&json);
    if (r == -ENOMEM)
        out->failed = true;
    /* Flows may outlive their Service by a while. */
    return !service || walk.left < limit || find_nat_row_of(state->nat, service);
}
