// SPDX-License-Identifier: Apache-2.0
/*
 * The document Egress: which Egresses pods of this node use, by which gateways, and how much these
 * were sent; on a gateway, who its clients are, what they do, and which source ports they have; and
 * what was dropped or answered, by cause. What is planned comes from the planner's tables,
 * everything that is counted from the live maps.
 */
#include "api/document.h"
#include "api/nat/last_packet.h"
#include "api/view.h"
#include "base/clock.h"
#include "plan/egress/egress_names.h"

static void write_ip(struct json *json, const char *key, const struct ip *ip)
{
    char buffer[IP_STRLEN];
    json_string(json, key, ip->family == IP_NONE ? NULL : ip_str(ip, buffer));
}

static void write_names(struct json *json, const char *key, const char *list)
{
    struct egress_item item;
    json_begin_array(json, key);
    while (egress_list_next(&list, &item))
        json_stringf(json, NULL, "%s/%s", item.namespace, item.name);
    json_end_array(json);
}

static void write_gateways(struct json *json, const struct api_state *state,
                           const struct egress_set *set)
{
    const struct egress_live *live = state->egress_live;
    json_begin_array(json, "gateways");
    vec_each(const struct egress_gateway, gateway, &set->gateways) {
        json_begin_object(json, NULL);
        write_ip(json, "address", &gateway->address);
        json_string(json, "node", *gateway->node ? gateway->node : NULL);
        json_string(json, "state", egress_gateway_state_name(gateway->state));
        json_bool(json, "answersProbes", gateway->answers);
        json_int(json, "packets",
                 (int64_t)live->sent(live->context, set->egress, &gateway->address));
        json_end_object(json);
    }
    json_end_array(json);
}

/* How many pods of this node may send by a set. */
static int64_t count_pods(const struct egress_plan *plan, const struct egress_set *set)
{
    int64_t count = 0;
    sorted_each(struct egress_pod *const, it, &plan->pods) {
        const struct egress_pod *pod = *it;
        count += pod->is_client && pod->policy.family == set->family &&
                 egress_list_has(pod->policy.egresses, set->egress);
    }
    return count;
}

static void write_egresses(struct json *json, const struct api_state *state)
{
    json_begin_array(json, "items");
    sorted_each(struct egress_set *const, it, &state->egress->sets) {
        const struct egress_set *set = *it;
        json_begin_object(json, NULL);
        json_string(json, "egress", set->egress);
        json_int(json, "family", set->family);
        json_string(json, "affinity", set->by_client ? "client" : "flow");
        json_int(json, "pods", count_pods(state->egress, set));
        write_gateways(json, state, set);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_blocks(struct json *json, const struct egress_client_use *use)
{
    json_begin_array(json, "blocks");
    for (size_t i = 0; i < use->block_count; i++) {
        json_begin_object(json, NULL);
        write_ip(json, "address", &use->blocks[i].address);
        json_int(json, "first", use->blocks[i].first);
        json_int(json, "last", use->blocks[i].last);
        json_time(json, "since", use->blocks[i].since_wall_ms);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_clients(struct json *json, const struct api_state *state)
{
    const struct egress_live *live = state->egress_live;
    json_begin_array(json, "clients");
    sorted_each(struct egress_client *const, it, &state->egress->clients) {
        const struct egress_client *client = *it;
        struct egress_client_use use = { 0 };
        if (!live->client(live->context, &client->address, &use))
            continue;
        json_begin_object(json, NULL);
        write_ip(json, "address", &client->address);
        json_string(json, "namespace", client->namespace);
        json_string(json, "name", client->name);
        write_names(json, "egresses", client->egresses);
        json_int(json, "flows", (int64_t)use.flows);
        json_int(json, "refused", (int64_t)use.refused);
        json_int(json, "packets", (int64_t)use.packets);
        json_int(json, "bytes", (int64_t)use.bytes);
        write_blocks(json, &use);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_pair(struct json *json, const char *key, const struct ip pair[static 2])
{
    json_begin_array(json, key);
    for (int i = 0; i < 2; i++) {
        if (pair[i].family != IP_NONE)
            write_ip(json, NULL, &pair[i]);
    }
    json_end_array(json);
}

static void write_gateway(struct json *json, const struct api_state *state)
{
    const struct egress_live *live = state->egress_live;
    struct egress_gateway_use use;
    if (!live->gateway(live->context, &use)) {
        json_null(json, "gateway");
        return;
    }
    json_begin_object(json, "gateway");
    write_names(json, "serves", state->egress->served ? state->egress->served : "");
    write_pair(json, "reachedAt", use.own);
    json_begin_array(json, "translatesTo");
    for (int family = 0; family < 2; family++) {
        for (int place = 0; place < EGRESS_SOURCES_MAX; place++) {
            if (use.source[family][place].family != IP_NONE)
                write_ip(json, NULL, &use.source[family][place]);
        }
    }
    json_end_array(json);
    json_string(json, "phase", egress_phase_name(use.phase));
    json_int(json, "flows", (int64_t)use.flows);
    json_time(json, "flowsAt", use.flows_wall_ms);
    json_int(json, "connections", (int64_t)use.connections);
    json_begin_object(json, "ports");
    json_int(json, "first", use.first_port);
    json_int(json, "last", use.last_port);
    json_int(json, "block", use.block);
    json_int(json, "blocks", use.blocks);
    json_int(json, "blocksUsed", use.blocks_used);
    json_end_object(json);
    write_clients(json, state);
    json_end_object(json);
}

static void write_refusals(struct json *json, const struct api_state *state)
{
    const struct egress_live *live = state->egress_live;
    struct egress_refusal refusals[EGRESS_CAUSE_COUNT];
    json_begin_array(json, "refusals");
    for (enum egress_side side = 0; side < EGRESS_SIDES; side++) {
        size_t count = live->refusals(live->context, side, refusals);
        for (size_t i = 0; i < count; i++) {
            json_begin_object(json, NULL);
            json_string(json, "side", egress_side_name(side));
            json_string(json, "reason", egress_cause_name(refusals[i].cause));
            json_string(json, "reasonText", egress_cause_text(refusals[i].cause));
            json_int(json, "count", (int64_t)refusals[i].count);
            write_last_packet(json, state, &refusals[i].last);
            json_end_object(json);
        }
    }
    json_end_array(json);
}

void view_egress(const struct api_state *state, struct text *out)
{
    struct json json = view_begin(out, "EgressList");
    write_egresses(&json, state);
    write_gateway(&json, state);
    write_refusals(&json, state);
    view_end(&json);
}
