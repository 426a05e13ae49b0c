// SPDX-License-Identifier: Apache-2.0
/* Nodes, Namespaces and Pods as JSON; see encode.c. */
#include "model/encode_node.h"

#include "model/encode_member.h"
#include "model/node.h"
#include "model/pod.h"

void encode_node_metadata(const struct object *object, struct json *json)
{
    const struct node *node = to_node(object);
    json_begin_object(json, "labels");
    encode_text(json, "topology.kubernetes.io/zone", node->zone);
    if (node->excluded)
        json_string(json, "node.kubernetes.io/exclude-from-external-load-balancers", "");
    json_end_object(json);
}

/* Which of the others were internal is not kept: only the first of a family is used as such. */
static void node_address(const struct node *node, const struct ip *ip, struct json *json)
{
    const struct ip *primary = ip->family == IP_V4 ? &node->primary_v4 : &node->primary_v6;
    json_begin_object(json, NULL);
    json_string(json, "type", ip_equal(ip, primary) ? "InternalIP" : "ExternalIP");
    encode_ip(json, "address", ip);
    json_end_object(json);
}

void encode_node_rest(const struct object *object, struct json *json)
{
    const struct node *node = to_node(object);
    json_begin_object(json, "spec");
    encode_prefixes(json, "podCIDRs", node->pod_nets, node->pod_net_count);
    json_begin_array(json, "taints");
    if (node->to_be_deleted) {
        json_begin_object(json, NULL);
        json_string(json, "key", "ToBeDeletedByClusterAutoscaler");
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
    json_begin_object(json, "status");
    json_begin_array(json, "addresses");
    for (uint32_t i = 0; i < node->address_count; i++)
        node_address(node, &node->addresses[i], json);
    json_end_array(json);
    json_begin_array(json, "conditions");
    if (node->network_unavailable) {
        json_begin_object(json, NULL);
        json_string(json, "type", "NetworkUnavailable");
        json_string(json, "status", "True");
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void encode_namespace_metadata(const struct object *object, struct json *json)
{
    json_begin_object(json, "annotations");
    json_string(json, "coil.cybozu.com/pool", to_namespace(object)->pool);
    json_end_object(json);
}

void encode_pod_rest(const struct object *object, struct json *json)
{
    const struct pod *pod = to_pod(object);
    json_begin_object(json, "spec");
    encode_text(json, "nodeName", pod->node_name);
    encode_flag(json, "hostNetwork", pod->host_network);
    json_end_object(json);
    json_begin_object(json, "status");
    if (pod->finished)
        json_string(json, "phase", "Succeeded");
    json_begin_array(json, "podIPs");
    for (uint32_t i = 0; i < pod->ip_count; i++) {
        json_begin_object(json, NULL);
        encode_ip(json, "ip", &pod->ips[i]);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}
