// SPDX-License-Identifier: Apache-2.0
/*
 * Plans routes to other nodes' blocks; see direct_row.h. Called by the composition of a route plan
 * (routes.c) when a block, a Node, or this node's addresses or links change.
 *
 * The networks of this node are those of its interfaces' addresses; of several with the Node's
 * address, the longest prefix wins, as in the kernel. An address that is not usable (tentative), or
 * of an interface that is down, has no network: the kernel would refuse the route.
 */
#include "plan/routes/direct_row.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/siphash.h"
#include "model/node.h"
#include "plan/link_table.h"

static const struct {
    const char *name, *text;
} reasons[DIRECT_REASONS] = {
    [DIRECT_ROUTED] = { "routed", "routed straight to its Node" },
    [DIRECT_NO_NODE] = { "no-node", "there is no Node of this name" },
    [DIRECT_NO_ADDRESS] = { "no-address", "its Node has no InternalIP of this family" },
    [DIRECT_ELSEWHERE] = { "elsewhere", "its Node is on no network of this node's" },
    [DIRECT_AROUND] = { "around", "it covers the Node's address, or one of this node's" },
};

const char *direct_reason_name(enum direct_reason reason)
{
    return reasons[reason].name;
}

const char *direct_reason_text(enum direct_reason reason)
{
    return reasons[reason].text;
}

int direct_row_cmp(const void *a, const void *b)
{
    const struct direct_row *left = a, *right = b;
    int r = prefix_cmp(&left->prefix, &right->prefix);
    return r ? r : strcmp(left->block, right->block);
}

bool direct_row_equal(const struct direct_row *a, const struct direct_row *b)
{
    return direct_row_cmp(a, b) == 0 && strcmp(a->node, b->node) == 0 &&
           ip_equal(&a->via, &b->via) && a->ifindex == b->ifindex && a->reason == b->reason;
}

static bool is_up(const struct node_facts *facts, uint32_t ifindex)
{
    const struct link *link = link_find(facts->links, ifindex);
    return link && link->up;
}

/* The interface of the longest prefix with the address; 0: none. */
static uint32_t interface_to(const struct node_facts *facts, const struct ip *ip)
{
    const struct link_address *best = NULL;
    sorted_each(const struct link_address, address, facts->link_addresses) {
        const struct prefix net = ip_network(&address->ip, address->length);
        if (address->tentative || address->ip.family != ip->family ||
            address->length >= ip_bits(ip) || (best && best->length >= address->length) ||
            !prefix_contains(&net, ip) || !is_up(facts, address->ifindex))
            continue;
        best = address;
    }
    return best ? best->ifindex : 0;
}

/* A route to it would create a loop for packets to the Node, or to this node. */
static bool is_around(const struct node_facts *facts, const struct prefix *prefix,
                      const struct ip *via)
{
    if (prefix_contains(prefix, via))
        return true;
    sorted_each(const struct link_address, address, facts->link_addresses) {
        if (prefix_contains(prefix, &address->ip))
            return true;
    }
    return false;
}

static enum direct_reason decide(const struct node_facts *facts, struct direct_row *row)
{
    const struct object *object = store_get(facts->store, KIND_NODE, "", row->node);
    const struct node *node = object ? to_node(object) : NULL;
    if (!node)
        return DIRECT_NO_NODE;
    row->via = row->prefix.ip.family == IP_V4 ? node->primary_v4 : node->primary_v6;
    if (row->via.family == IP_NONE)
        return DIRECT_NO_ADDRESS;
    if (is_around(facts, &row->prefix, &row->via))
        return DIRECT_AROUND;
    row->ifindex = interface_to(facts, &row->via);
    return row->ifindex ? DIRECT_ROUTED : DIRECT_ELSEWHERE;
}

static const struct prefix *const *prefixes_of(const struct address_block *block,
                                               const struct prefix *prefixes[static 3])
{
    size_t count = 0;
    if (block->ipv4.ip.family != IP_NONE)
        prefixes[count++] = &block->ipv4;
    if (block->ipv6.ip.family != IP_NONE)
        prefixes[count++] = &block->ipv6;
    prefixes[count] = NULL;
    return prefixes;
}

/* A row with only its key. */
static struct direct_row key_of(const struct address_block *block, const struct prefix *prefix)
{
    struct direct_row row = { .prefix = *prefix };
    snprintf(row.block, sizeof(row.block), "%s", block->object.name);
    return row;
}

static struct direct_row row_of(const struct node_facts *facts, const struct address_block *block,
                                const struct prefix *prefix)
{
    struct direct_row row = key_of(block, prefix);
    snprintf(row.node, sizeof(row.node), "%s", block->node);
    row.reason = (uint8_t)decide(facts, &row);
    return row;
}

static bool is_anothers(const struct node_facts *facts, const struct address_block *block)
{
    return *block->node && strcmp(block->node, facts->config->node) != 0;
}

static bool is_on(const struct node_facts *facts)
{
    return facts->config->routes.enabled && facts->config->routes.direct && facts->links &&
           facts->link_addresses;
}

int plan_direct(const struct node_facts *facts, struct sorted *ret_rows)
{
    AUTOSORTED struct sorted rows = SORTED(struct direct_row, direct_row_cmp);
    const struct object *object;
    size_t cursor = 0;
    while (is_on(facts) && (object = store_next(facts->store, KIND_ADDRESS_BLOCK, &cursor))) {
        const struct address_block *block = to_address_block(object);
        const struct prefix *prefixes[3];
        if (!is_anothers(facts, block))
            continue;
        for (const struct prefix *const *it = prefixes_of(block, prefixes); *it; it++) {
            const struct direct_row row = row_of(facts, block, *it);
            int r = sorted_put(&rows, &row);
            if (r < 0)
                return r;
        }
    }
    *ret_rows = TAKE_STRUCT(rows);
    return 0;
}

bool plan_direct_row(const struct node_facts *facts, const struct direct_row *key,
                     struct direct_row *ret_row)
{
    const struct object *object =
        is_on(facts) ? store_get(facts->store, KIND_ADDRESS_BLOCK, "", key->block) : NULL;
    const struct address_block *block = object ? to_address_block(object) : NULL;
    const struct prefix *prefixes[3];
    if (!block || !is_anothers(facts, block))
        return false;
    for (const struct prefix *const *it = prefixes_of(block, prefixes); *it; it++) {
        if (prefix_cmp(*it, &key->prefix) != 0)
            continue;
        *ret_row = row_of(facts, block, *it);
        return true;
    }
    return false;
}

uint64_t direct_networks(const struct node_facts *facts)
{
    static const uint8_t no_key[16];
    uint64_t all = 0;
    if (!is_on(facts))
        return 0;
    sorted_each(const struct link_address, address, facts->link_addresses) {
        uint8_t text[sizeof(address->ip.bytes) + sizeof(address->ifindex) + 3] = { 0 };
        if (address->length >= ip_bits(&address->ip) || ip_is_special(&address->ip))
            continue;
        memcpy(text, address->ip.bytes, ip_size(&address->ip));
        memcpy(text + sizeof(address->ip.bytes), &address->ifindex, sizeof(address->ifindex));
        text[sizeof(text) - 3] = address->length;
        text[sizeof(text) - 2] = address->tentative;
        text[sizeof(text) - 1] = is_up(facts, address->ifindex);
        all += siphash(text, sizeof(text), no_key);
    }
    return all;
}

static bool has_moved(const struct change *change)
{
    if (!change->before || !change->after)
        return true;
    const struct node *before = to_node(change->before), *after = to_node(change->after);
    return !ip_equal(&before->primary_v4, &after->primary_v4) ||
           !ip_equal(&before->primary_v6, &after->primary_v6);
}

static int touch_block(const struct object *object, direct_row_list *touched)
{
    const struct prefix *prefixes[3];
    int r = 0;
    if (!object)
        return 0;
    const struct address_block *block = to_address_block(object);
    for (const struct prefix *const *it = prefixes_of(block, prefixes); r == 0 && *it; it++)
        r = vec_push(touched, key_of(block, *it));
    return r;
}

static int touch_rows_of(const struct sorted *rows, const char *node, direct_row_list *touched)
{
    int r = 0;
    sorted_each(const struct direct_row, row, rows) {
        if (strcmp(row->node, node) == 0)
            r = vec_push(touched, *row);
        if (r < 0)
            return r;
    }
    return 0;
}

int plan_affected_direct(const struct node_facts *facts, const struct sorted *rows,
                         const struct change *change, direct_row_list *touched)
{
    const struct object *any = change->after ? change->after : change->before;
    if (!is_on(facts))
        return 0;
    if (any->kind == KIND_NODE && has_moved(change))
        return touch_rows_of(rows, any->name, touched);
    if (any->kind != KIND_ADDRESS_BLOCK)
        return 0;
    int r = touch_block(change->before, touched);
    return r < 0 ? r : touch_block(change->after, touched);
}
