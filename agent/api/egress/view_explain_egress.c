// SPDX-License-Identifier: Apache-2.0
/*
 * One address as egress knows it: a pod of this node, with what its annotation leads to; a gateway,
 * with the Egresses that it is one of; on a gateway, a client, with what it does. It may be several
 * of these.
 */
#include "api/egress/view_explain_egress.h"

#include "plan/egress/egress_names.h"

static const struct egress_pod *find_pod(const struct egress_plan *plan, const struct ip *address)
{
    struct egress_pod key = { .address = *address }, *pointer = &key;
    struct egress_pod *const *found = sorted_find(&plan->pods, &pointer);
    return found ? *found : NULL;
}

static const struct egress_client *find_client(const struct egress_plan *plan,
                                               const struct ip *address)
{
    struct egress_client key = { .address = *address }, *pointer = &key;
    struct egress_client *const *found = sorted_find(&plan->clients, &pointer);
    return found ? *found : NULL;
}

static const struct egress_gateway *find_gateway(const struct egress_set *set,
                                                 const struct ip *address)
{
    vec_each(const struct egress_gateway, gateway, &set->gateways) {
        if (ip_equal(&gateway->address, address))
            return gateway;
    }
    return NULL;
}

static bool is_gateway(const struct egress_plan *plan, const struct ip *address)
{
    sorted_each(struct egress_set *const, set, &plan->sets) {
        if (find_gateway(*set, address))
            return true;
    }
    return false;
}

const char *egress_knows_address(const struct api_state *state, const struct ip *address,
                                 const char **ret_text)
{
    const struct egress_plan *plan = state->egress;
    if (!plan || !state->egress_live)
        return NULL;
    if (find_pod(plan, address)) {
        *ret_text = "a pod of this node";
        return "egress-pod";
    }
    if (is_gateway(plan, address)) {
        *ret_text = "a gateway of an Egress";
        return "egress-gateway";
    }
    *ret_text = "a client of this gateway";
    return find_client(plan, address) ? "egress-client" : NULL;
}

static void write_names(struct json *json, const char *key, const char *list)
{
    struct egress_item item;
    json_begin_array(json, key);
    while (egress_list_next(&list, &item))
        json_stringf(json, NULL, "%s/%s", item.namespace, item.name);
    json_end_array(json);
}

/* The gateways of the Egress to which a destination leads. */
static void write_ways(struct json *json, const struct egress_plan *plan, const char *egress,
                       uint8_t family)
{
    struct egress_set key = { .egress = (char *)egress, .family = family }, *pointer = &key;
    struct egress_set *const *set = sorted_find(&plan->sets, &pointer);
    char buffer[IP_STRLEN];
    json_begin_array(json, "gateways");
    if (set) {
        vec_each(const struct egress_gateway, gateway, &(*set)->gateways) {
            json_begin_object(json, NULL);
            json_string(json, "address", ip_str(&gateway->address, buffer));
            json_string(json, "state", egress_gateway_state_name(gateway->state));
            json_end_object(json);
        }
    }
    json_end_array(json);
}

static void write_destinations(struct json *json, const struct egress_plan *plan,
                               const struct egress_pod *pod)
{
    struct egress_policy key = { .key = pod->policy }, *pointer = &key;
    struct egress_policy *const *found =
        pod->is_client ? sorted_find(&plan->policies, &pointer) : NULL;
    char buffer[PREFIX_STRLEN];
    json_begin_array(json, "destinations");
    if (found) {
        vec_each(const struct egress_entry, entry, &(*found)->entries) {
            json_begin_object(json, NULL);
            json_string(json, "prefix", prefix_str(&entry->destination, buffer));
            json_string(json, "egress", entry->egress);
            write_ways(json, plan, entry->egress, pod->policy.family);
            json_end_object(json);
        }
    }
    json_end_array(json);
}

static void write_pod(struct json *json, const struct egress_plan *plan, const struct ip *address)
{
    const struct egress_pod *pod = find_pod(plan, address);
    if (!pod) {
        json_null(json, "pod");
        return;
    }
    json_begin_object(json, "pod");
    json_string(json, "namespace", pod->namespace);
    json_string(json, "name", pod->name);
    write_names(json, "egresses", pod->is_client ? pod->policy.egresses : "");
    json_bool(json, "waiting", pod->is_client && pod->policy.waiting);
    write_destinations(json, plan, pod);
    json_end_object(json);
}

static void write_gateway_of(struct json *json, const struct api_state *state,
                             const struct ip *address)
{
    const struct egress_live *live = state->egress_live;
    json_begin_array(json, "gatewayOf");
    sorted_each(struct egress_set *const, it, &state->egress->sets) {
        const struct egress_gateway *gateway = find_gateway(*it, address);
        if (!gateway)
            continue;
        json_begin_object(json, NULL);
        json_string(json, "egress", (*it)->egress);
        json_string(json, "state", egress_gateway_state_name(gateway->state));
        json_string(json, "node", *gateway->node ? gateway->node : NULL);
        json_int(json, "packets", (int64_t)live->sent(live->context, (*it)->egress, address));
        json_end_object(json);
    }
    json_end_array(json);
}

/* "198.51.100.1:1024-1087", "[2001:db8::1]:1024-1087" */
static void write_ports(struct json *json, const struct egress_block *block)
{
    char address[IP_STRLEN];
    json_stringf(json, NULL, block->address.family == IP_V6 ? "[%s]:%u-%u" : "%s:%u-%u",
                 ip_str(&block->address, address), block->first, block->last);
}

static void write_client(struct json *json, const struct api_state *state, const struct ip *address)
{
    const struct egress_client *client = find_client(state->egress, address);
    const struct egress_live *live = state->egress_live;
    struct egress_client_use use = { 0 };
    if (!client || !live->client(live->context, address, &use)) {
        json_null(json, "client");
        return;
    }
    json_begin_object(json, "client");
    json_string(json, "namespace", client->namespace);
    json_string(json, "name", client->name);
    write_names(json, "egresses", client->egresses);
    json_int(json, "flows", (int64_t)use.flows);
    json_int(json, "refused", (int64_t)use.refused);
    json_begin_array(json, "ports");
    for (size_t i = 0; i < use.block_count; i++)
        write_ports(json, &use.blocks[i]);
    json_end_array(json);
    json_end_object(json);
}

void write_egress_explanation(struct json *json, const struct api_state *state,
                              const struct ip *address)
{
    const char *text;
    if (!egress_knows_address(state, address, &text)) {
        json_null(json, "egress");
        return;
    }
    json_begin_object(json, "egress");
    write_pod(json, state->egress, address);
    write_gateway_of(json, state, address);
    write_client(json, state, address);
    json_end_object(json);
}
