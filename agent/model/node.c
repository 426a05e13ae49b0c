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
#include "model/fields/encode_member.h"
#include "model/fields/equal.h"
#include "model/fields/labels.h"
#include "model/fields/spelling.h"
#include "model/kind.h"

#define LEAVING "ToBeDeletedByClusterAutoscaler" /* a taint */

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

static DECODE_FIELD(decode_addresses, member)
{
    struct node *node = base;
    const struct doc *list = decode_list(decoder, member);
    struct ip *addresses = decode_alloc(decoder, list ? list->count : 0, sizeof(*addresses));
    bool *internals = decode_alloc(decoder, list ? list->count : 0, sizeof(*internals));
    if (!addresses || !internals)
        return true;
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
    return true;
}

static EQUAL_FIELD(addresses_equal)
{
    const struct node *left = a, *right = b;
    return ips_equal(left->addresses, left->address_count, right->addresses,
                     right->address_count) &&
           (left->address_count == 0 ||
            memcmp(left->internal, right->internal, left->address_count * sizeof(bool)) == 0);
}

static ENCODE_FIELD(encode_addresses)
{
    const struct node *node = base;
    json_begin_array(json, field->key);
    for (uint32_t i = 0; i < node->address_count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "type", node->internal[i] ? "InternalIP" : "ExternalIP");
        encode_ip(json, "address", &node->addresses[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

static const struct field_type addresses_type = { decode_addresses, addresses_equal,
                                                  encode_addresses };

static const char *text_of(const struct doc *node)
{
    return node && node->type == DOC_SCALAR ? node->text : NULL;
}

static DECODE_FIELD(decode_pod_nets, list)
{
    const struct doc *single = doc_get(decoder->map, "podCIDR");
    const struct doc *first = list && list->type == DOC_LIST ? list->first : NULL;
    const char *text = text_of(single);
    if (text && *text && !text_equal(text_of(first), text))
        decode_warning(decoder, single, node_pod_cidr_differs);
    return field_list.decode(decoder, list, field, base);
}

/* In one walk, so that what is wrong with the list is told once. */
static DECODE_FIELD(decode_conditions, list)
{
    struct node *node = base;
    doc_each(entry, decode_list(decoder, list)) {
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
    return true;
}

static EQUAL_FIELD(conditions_equal)
{
    const struct node *left = a, *right = b;
    return left->network_unavailable == right->network_unavailable && left->ready == right->ready &&
           left->ready_is_said == right->ready_is_said;
}

static void encode_condition(struct json *json, const char *condition, bool is_true)
{
    json_begin_object(json, NULL);
    json_string(json, "type", condition);
    json_string(json, "status", is_true ? "True" : "False");
    json_end_object(json);
}

static ENCODE_FIELD(encode_conditions)
{
    const struct node *node = base;
    json_begin_array(json, field->key);
    if (node->network_unavailable)
        encode_condition(json, "NetworkUnavailable", true);
    if (node->ready_is_said)
        encode_condition(json, "Ready", node->ready);
    json_end_array(json);
}

static const struct field_type conditions_type = { decode_conditions, conditions_equal,
                                                   encode_conditions };

static DECODE_FIELD(decode_taints, list)
{
    bool *to_be_deleted = field_member(field, base);
    doc_each(entry, decode_list(decoder, list)) {
        if (decode_map(decoder, entry) && is_word(decoder, doc_get(entry, "key"), LEAVING))
            *to_be_deleted = true;
    }
    return true;
}

static ENCODE_FIELD(encode_taints)
{
    if (!to_node(base)->to_be_deleted)
        return;
    json_begin_array(json, field->key);
    json_begin_object(json, NULL);
    json_string(json, "key", LEAVING);
    json_end_object(json);
    json_end_array(json);
}

static const struct field_type taints_type = { decode_taints, field_numbers_equal, encode_taints };

static const struct field labels[] = {
    { NULL, &field_labels, ITEMS(struct node, labels, label_count) },
    { "topology.kubernetes.io/zone", &field_label, MEMBER(struct node, zone),
      BESIDE(struct node, labels, label_count) },
    { "node.kubernetes.io/exclude-from-external-load-balancers", &field_label_flag,
      MEMBER(struct node, excluded), BESIDE(struct node, labels, label_count) },
    END(NULL),
};

static const struct field annotations[] = {
    { "kube-service-exporter.github.com/pretend-ready-until", &field_text_or_null,
      MEMBER(struct node, pretend_ready_until) },
    END(NULL),
};

static const struct field spec[] = {
    { "podCIDRs", &field_list, ITEMS(struct node, pod_nets, pod_net_count), .fields = cidr_items,
      .decode = decode_pod_nets },
    { "taints", &taints_type, MEMBER(struct node, to_be_deleted) },
    { "unschedulable", &field_flag, MEMBER(struct node, unschedulable) },
    END("podCIDR providerID externalID configSource"),
};

static const struct field address_fields[] = { END("type address") };

static const struct field status[] = {
    { "addresses", &addresses_type, .fields = address_fields, .listed = true },
    { "conditions", &conditions_type },
    END(NULL),
};

static const struct field fields[] = {
    { "spec", &field_map, .fields = spec },
    { "status", &field_map, .fields = status },
    END("apiVersion kind metadata"),
};

const struct kind_row node_kind = {
    .api_version = "v1",
    .name = "Node",
    .identified = true,
    .size = sizeof(struct node),
    .labels = labels,
    .annotations = annotations,
    .fields = fields,
};
