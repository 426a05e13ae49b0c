// SPDX-License-Identifier: Apache-2.0
/*
 * Nodes: from a document, and compared. Only what decides about routes is read, so that the
 * kubelet's heartbeats in `status` make no change.
 */
#include "model/node.h"

#include <string.h>

#include "model/decode.h"
#include "model/equal.h"

static bool is_word(struct decoder *decoder, const struct doc *node, const char *word)
{
    return text_equal(decode_text(decoder, node), word);
}

static void decode_addresses(struct decoder *decoder, const struct doc *status, struct node *node)
{
    const struct doc *list = decode_list(decoder, doc_get(status, "addresses"));
    struct ip *addresses = decode_alloc(decoder, list ? list->count : 0, sizeof(*addresses));
    if (!addresses)
        return;
    node->addresses = addresses;
    doc_each(entry, list) {
        if (!decode_map(decoder, entry))
            continue;
        const struct doc *type = doc_get(entry, "type");
        if ((is_word(decoder, type, "InternalIP") || is_word(decoder, type, "ExternalIP")) &&
            decode_ip(decoder, doc_get(entry, "address"), &addresses[node->address_count]))
            node->address_count++;
    }
}

static bool has_condition(struct decoder *decoder, const struct doc *status, const char *condition)
{
    bool found = false;
    doc_each(entry, decode_list(decoder, doc_get(status, "conditions"))) {
        if (decode_map(decoder, entry) && is_word(decoder, doc_get(entry, "type"), condition) &&
            is_word(decoder, doc_get(entry, "status"), "True"))
            found = true;
    }
    return found;
}

void node_decode(struct decoder *decoder, const struct doc *root, struct object *object)
{
    static const char exclude[] = "node.kubernetes.io/exclude-from-external-load-balancers";
    struct node *node = (struct node *)object;
    const struct doc *status = decode_map(decoder, doc_get(root, "status"));
    decode_addresses(decoder, status, node);
    node->excluded = decode_label(decoder, exclude) != NULL;
    node->network_unavailable = has_condition(decoder, status, "NetworkUnavailable");
}

bool node_equal(const struct object *a, const struct object *b)
{
    const struct node *left = to_node(a), *right = to_node(b);
    return left->excluded == right->excluded &&
           left->network_unavailable == right->network_unavailable &&
           ips_equal(left->addresses, left->address_count, right->addresses, right->address_count);
}
