// SPDX-License-Identifier: Apache-2.0
/*
 * "holder" in the document Explanation: whose own an address is. A Node's by its object; a pod's by
 * the Pod objects, which the agent has only where egress or pools need them, and by the endpoints
 * of EndpointSlices, which name address and node of every pod behind a Service.
 *
 * Nothing is indexed for it: an operator asks seldom, and the walk over all slices takes some
 * nanoseconds for each endpoint.
 */
#include "api/claims/view_explain_holder.h"

#include <string.h>

#include "api/pod_faults.h"
#include "base/text.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/services/endpoint_slice.h"

enum { SLICES_TOLD = 64 };

static const struct endpoint *endpoint_at(const struct endpoint_slice *slice, const struct ip *ip)
{
    for (uint32_t i = 0; *slice->service && i < slice->endpoint_count; i++) {
        if (ip_equal(&slice->endpoints[i].ip, ip))
            return &slice->endpoints[i];
    }
    return NULL;
}

/* The next slice from `cursor` on with the address. */
static const struct endpoint_slice *next_slice(const struct api_state *state, const struct ip *ip,
                                               size_t *cursor)
{
    const struct object *object;
    while ((object = store_next(state->store, KIND_ENDPOINT_SLICE, cursor))) {
        if (endpoint_at(to_endpoint_slice(object), ip))
            return to_endpoint_slice(object);
    }
    return NULL;
}

static bool has_pod(const struct api_state *state, const struct ip *ip)
{
    size_t count = 0, cursor = 0;
    (void)store_pods_at(state->store, ip, &count);
    return count > 0 || next_slice(state, ip, &cursor);
}

const char *holder_knows_address(const struct api_state *state, const struct ip *address,
                                 const char **ret_text)
{
    const struct node *node = store_node_at(state->store, address);
    if (node) {
        *ret_text = strcmp(node->object.name, state->config->node) == 0
                        ? "it is this node's own"
                        : "it is another Node's own";
        return "node";
    }
    if (!has_pod(state, address))
        return NULL;
    *ret_text = "it is a pod's own";
    return "pod";
}

static void write_node(struct json *json, const struct api_state *state, const struct node *node)
{
    char buffer[PREFIX_STRLEN];

    json_begin_object(json, "node");
    json_string(json, "name", node->object.name);
    json_bool(json, "local", strcmp(node->object.name, state->config->node) == 0);
    json_begin_array(json, "addresses");
    for (uint32_t i = 0; i < node->address_count; i++)
        json_string(json, NULL, ip_str(&node->addresses[i], buffer));
    json_end_array(json);
    json_begin_array(json, "podCIDRs");
    for (uint32_t i = 0; i < node->pod_net_count; i++)
        json_string(json, NULL, prefix_str(&node->pod_nets[i], buffer));
    json_end_array(json);
    json_bool(json, "ready", node->ready);
    json_bool(json, "excluded", node->excluded);
    json_end_object(json);
}

static void write_pods(struct json *json, const struct api_state *state, const struct ip *address)
{
    size_t count = 0;
    const struct pod *const *pods = store_pods_at(state->store, address, &count);

    json_begin_array(json, "pods");
    for (size_t i = 0; i < count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "namespace", pods[i]->object.namespace);
        json_string(json, "name", pods[i]->object.name);
        json_string(json, "node", *pods[i]->node_name ? pods[i]->node_name : NULL);
        write_pod_faults(json, state, pods[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_endpoints(struct json *json, const struct api_state *state,
                            const struct ip *address)
{
    const struct endpoint_slice *slice;
    size_t cursor = 0;

    json_begin_array(json, "endpointOf");
    for (int told = 0; told < SLICES_TOLD && (slice = next_slice(state, address, &cursor));
         told++) {
        const struct endpoint *endpoint = endpoint_at(slice, address);
        json_begin_object(json, NULL);
        json_string(json, "namespace", slice->object.namespace);
        json_string(json, "name", slice->service);
        json_string(json, "node", *endpoint->node_name ? endpoint->node_name : NULL);
        json_bool(json, "ready", endpoint->ready);
        json_bool(json, "serving", endpoint->serving);
        json_bool(json, "terminating", endpoint->terminating);
        json_end_object(json);
    }
    json_end_array(json);
}

void write_holder(struct json *json, const struct api_state *state, const struct ip *address)
{
    const struct node *node = store_node_at(state->store, address);

    if (!node && !has_pod(state, address)) {
        json_null(json, "holder");
        return;
    }
    json_begin_object(json, "holder");
    if (node)
        write_node(json, state, node);
    else
        json_null(json, "node");
    write_pods(json, state, address);
    write_endpoints(json, state, address);
    json_end_object(json);
}

bool holder_address_of_node(const struct api_state *state, const char *name, struct ip *ret_ip)
{
    const struct object *object = store_get(state->store, KIND_NODE, "", name);
    const struct node *node = object ? to_node(object) : NULL;
    if (!node || node->address_count == 0)
        return false;
    *ret_ip = node->primary_v4.family != IP_NONE ? node->primary_v4 : node->addresses[0];
    return true;
}

bool holder_address_of_pod(const struct api_state *state, const char *namespaced, struct ip *ret_ip)
{
    const size_t length = strcspn(namespaced, "/");
    AUTOFREE char *namespace = text_format("%.*s", (int)length, namespaced);
    if (!namespace || !namespaced[length])
        return false;
    const struct object *object =
        store_get(state->store, KIND_POD, namespace, namespaced + length + 1);
    if (!object || to_pod(object)->ip_count == 0)
        return false;
    *ret_ip = to_pod(object)->ips[0];
    return true;
}
