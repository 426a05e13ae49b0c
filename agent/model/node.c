// SPDX-License-Identifier: Apache-2.0
/*
 * Nodes: from a document, compared, and written back. Only what decides about routes, NAT,
 * egress and export is read, so that the kubelet's heartbeats in `status` make no change.
 */
#include "model/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "format/quote.h"
#include "model/fields/decode.h"
#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
#include "model/fields/labels.h"
#include "model/fields/spelling.h"
#include "model/kind.h"

#define ZONE    "topology.kubernetes.io/zone"
#define EXCLUDE "node.kubernetes.io/exclude-from-external-load-balancers"
#define PRETEND "kube-service-exporter.github.com/pretend-ready-until"

static bool is_word(struct decoder *decoder, const struct doc *node, const char *word)
{
    return text_equal(decode_text(decoder, node), word);
}

static void keep_primary(struct node *node, const struct ip *ip)
{
    struct ip *primary = ip->family == IP_V4 ? &node->primary_v4 : &node->primary_v6;
    if (primary->family == IP_NONE)
        *primary = *ip;
}

/* Types that are not misspelt and none of ours are names of hosts. */
static void check_type(struct decoder *decoder, const struct doc *type)
{
    static const char *const known[] = { "InternalIP", "ExternalIP", "Hostname", "InternalDNS",
                                         "ExternalDNS" };
    char quoted[QUOTE_LEN];
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (!type || type->type != DOC_SCALAR || strcmp(type->text, known[i]) == 0)
            return;
    }
    for (size_t i = 0; i < 2; i++) {
        if (!spelled_like(type->text, known[i]))
            continue;
        decode_warning(decoder, type, object_word_ignored, .word = quote(type->text, quoted),
                       .meant = known[i]);
        return;
    }
}

static void decode_addresses(struct decoder *decoder, const struct doc *status, struct node *node)
{
    const struct doc *list = decode_list(decoder, doc_get(status, "addresses"));
    struct ip *addresses = decode_alloc(decoder, list ? list->count : 0, sizeof(*addresses));
    bool *internals = decode_alloc(decoder, list ? list->count : 0, sizeof(*internals));
    if (!addresses || !internals)
        return;
    node->addresses = addresses;
    node->internal = internals;
    doc_each(entry, list) {
        if (!decode_map(decoder, entry))
            continue;
        const struct doc *type = doc_get(entry, "type");
        struct ip *ip = &addresses[node->address_count];
        bool internal = is_word(decoder, type, "InternalIP");
        check_type(decoder, type);
        if ((!internal && !is_word(decoder, type, "ExternalIP")) ||
            !decode_ip(decoder, doc_get(entry, "address"), ip))
            continue;
        internals[node->address_count++] = internal;
        if (internal)
            keep_primary(node, ip);
    }
}

static void decode_pod_nets(struct decoder *decoder, const struct doc *spec, struct node *node)
{
    const struct doc *list = decode_list(decoder, doc_get(spec, "podCIDRs"));
    const struct doc *single = doc_get(spec, "podCIDR");
    if (single && single->type == DOC_SCALAR && *single->text &&
        (!list || !list->first || !text_equal(decode_text(decoder, list->first), single->text)))
        decode_warning(decoder, single, node_pod_cidr_differs);
    struct prefix *nets = decode_alloc(decoder, list ? list->count : 0, sizeof(*nets));
    if (!nets)
        return;
    node->pod_nets = nets;
    doc_each(entry, list) {
        if (decode_cidr(decoder, entry, &nets[node->pod_net_count]))
            node->pod_net_count++;
    }
}

/* In one walk, so that what is wrong with the list is told once. */
static void decode_conditions(struct decoder *decoder, const struct doc *status, struct node *node)
{
    doc_each(entry, decode_list(decoder, doc_get(status, "conditions"))) {
        if (!decode_map(decoder, entry))
            continue;
        const char *type = decode_text(decoder, doc_get(entry, "type"));
        bool unavailable = text_equal(type, "NetworkUnavailable");
        if (!unavailable && !text_equal(type, "Ready"))
            continue;
        bool is_true = is_word(decoder, doc_get(entry, "status"), "True");
        node->network_unavailable |= unavailable && is_true;
        node->ready |= !unavailable && is_true;
        node->ready_is_said |= !unavailable;
    }
}

static bool has_taint(struct decoder *decoder, const struct doc *spec, const char *taint)
{
    bool found = false;
    doc_each(entry, decode_list(decoder, doc_get(spec, "taints"))) {
        if (decode_map(decoder, entry) && is_word(decoder, doc_get(entry, "key"), taint))
            found = true;
    }
    return found;
}

static void decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    struct node *node = (struct node *)object;
    const struct doc *status = decode_map(decoder, doc_get(root, "status"));
    const struct doc *spec = decode_map(decoder, doc_get(root, "spec"));
    decode_addresses(decoder, status, node);
    decode_pod_nets(decoder, spec, node);
    node->labels = decode_labels(decoder, &node->label_count);
    const char *zone = decode_label(decoder, ZONE);
    node->zone = decode_keep(decoder, zone ? zone : "");
    node->excluded = decode_label(decoder, EXCLUDE) != NULL;
    decode_conditions(decoder, status, node);
    node->unschedulable = decode_bool(decoder, doc_get(spec, "unschedulable"), false);
    node->pretend_ready_until =
        decode_keep(decoder, decode_text(decoder, decode_annotation(decoder, PRETEND)));
    node->to_be_deleted = has_taint(decoder, spec, "ToBeDeletedByClusterAutoscaler");
}

static bool addresses_equal(const struct node *a, const struct node *b)
{
    return ips_equal(a->addresses, a->address_count, b->addresses, b->address_count) &&
           (a->address_count == 0 ||
            memcmp(a->internal, b->internal, a->address_count * sizeof(*a->internal)) == 0);
}

static bool equal(const struct object *a, const struct object *b)
{
    const struct node *left = to_node(a), *right = to_node(b);
    return left->excluded == right->excluded &&
           left->network_unavailable == right->network_unavailable &&
           left->to_be_deleted == right->to_be_deleted && left->ready == right->ready &&
           left->ready_is_said == right->ready_is_said &&
           left->unschedulable == right->unschedulable &&
           text_equal(left->pretend_ready_until, right->pretend_ready_until) &&
           text_equal(left->zone, right->zone) &&
           labels_equal(left->labels, left->label_count, right->labels, right->label_count) &&
           ip_equal(&left->primary_v4, &right->primary_v4) &&
           ip_equal(&left->primary_v6, &right->primary_v6) && addresses_equal(left, right) &&
           prefixes_equal(left->pod_nets, left->pod_net_count, right->pod_nets,
                          right->pod_net_count);
}

/* Of more labels than are kept, those that mean something by themselves are written beside them. */
static void encode_metadata(const struct object *object, struct json *json)
{
    const struct node *node = to_node(object);
    json_begin_object(json, "labels");
    encode_labels(json, node->labels, node->label_count);
    if (!labels_have(node->labels, node->label_count, ZONE))
        encode_text(json, ZONE, node->zone);
    if (node->excluded && !labels_have(node->labels, node->label_count, EXCLUDE))
        json_string(json, EXCLUDE, "");
    json_end_object(json);
    if (node->pretend_ready_until) {
        json_begin_object(json, "annotations");
        json_string(json, PRETEND, node->pretend_ready_until);
        json_end_object(json);
    }
}

static void encode_address(const struct node *node, uint32_t i, struct json *json)
{
    json_begin_object(json, NULL);
    json_string(json, "type", node->internal[i] ? "InternalIP" : "ExternalIP");
    encode_ip(json, "address", &node->addresses[i]);
    json_end_object(json);
}

static void encode_condition(struct json *json, const char *condition, bool is_true)
{
    json_begin_object(json, NULL);
    json_string(json, "type", condition);
    json_string(json, "status", is_true ? "True" : "False");
    json_end_object(json);
}

static void encode_rest(const struct object *object, struct json *json)
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
    encode_flag(json, "unschedulable", node->unschedulable);
    json_end_object(json);
    json_begin_object(json, "status");
    json_begin_array(json, "addresses");
    for (uint32_t i = 0; i < node->address_count; i++)
        encode_address(node, i, json);
    json_end_array(json);
    json_begin_array(json, "conditions");
    if (node->network_unavailable)
        encode_condition(json, "NetworkUnavailable", true);
    if (node->ready_is_said)
        encode_condition(json, "Ready", node->ready);
    json_end_array(json);
    json_end_object(json);
}

const struct kind_row node_kind = {
    .api_version = "v1",
    .name = "Node",
    .identified = true,
    .size = sizeof(struct node),
    .decode = decode,
    .equal = equal,
    .encode_metadata = encode_metadata,
    .encode_rest = encode_rest,
};
