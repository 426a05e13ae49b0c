// SPDX-License-Identifier: Apache-2.0
/*
 * See placement.h. A node's place in the order of a key is the hash of both: the greatest hash is
 * first. The key of the hash is a constant, since all nodes have to agree; a user who can choose
 * the names of nodes and groups could influence the order.
 */
#include "plan/claims/placement.h"

#include <net/if_arp.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/siphash.h"
#include "plan/claims/lease_state.h"

/*
 * How long a node keeps an address of which it lacks a port, after another node has all ports: a
 * rollout replaces pods one by one.
 */
enum { LACKING_MS = 5 * SECOND_MS };

static const char *const words[PLACEMENT_REASONS] = {
    [PLACEMENT_MAY] = "it may have the address",
    [PLACEMENT_NO_NODE] = "there is no Node of this name",
    [PLACEMENT_NOT_READY] = "the Node is not Ready",
    [PLACEMENT_NO_NETWORK] = "the Node's network is unavailable",
    [PLACEMENT_EXCLUDED] = "the Node's label excludes it from load balancing",
    [PLACEMENT_LEAVING] = "the Node is about to be deleted",
    [PLACEMENT_NO_INTERFACE] = "no Ethernet interface has an address in its network",
    [PLACEMENT_LINK_DOWN] = "the interface in its network is down",
    [PLACEMENT_PORT] = "the interface in its network is a port of another one",
    [PLACEMENT_OTHER_NODES] = "its L2Advertisement is for other nodes",
    [PLACEMENT_OTHER_LINKS] = "its L2Advertisement is for other interfaces",
    [PLACEMENT_UNUSED_LINK] = "addresses.interfaces leaves out the interface in its network",
    [PLACEMENT_NO_ENDPOINT] = "no usable endpoint for it",
    [PLACEMENT_NOT_PROVED] = "NAT has not proved that it serves it",
    [PLACEMENT_STANDING] = "the node is drained or withdrawn",
};

const char *placement_words(enum placement_reason reason)
{
    return words[reason];
}

enum placement_reason placement_of_node(const struct node *node, bool written)
{
    if (!node)
        return PLACEMENT_NO_NODE;
    if (!node->ready && (node->ready_is_said || !written))
        return PLACEMENT_NOT_READY;
    if (node->network_unavailable)
        return PLACEMENT_NO_NETWORK;
    if (node->excluded)
        return PLACEMENT_EXCLUDED;
    return node->to_be_deleted ? PLACEMENT_LEAVING : PLACEMENT_MAY;
}

bool placement_is_on(const struct link_address *address, const struct ip *ip)
{
    if (address->ip.family != ip->family || address->length >= ip_bits(ip))
        return false;
    const struct prefix network = ip_network(&address->ip, address->length);
    return prefix_contains(&network, ip);
}

static enum placement_reason why_not_by(const struct node_facts *facts, const struct link *link)
{
    return link_port_of(facts->links, link) ? PLACEMENT_PORT : PLACEMENT_LINK_DOWN;
}

enum placement_reason placement_on_link(const struct node_facts *facts, const struct ip *ip,
                                        const char *interface, const struct link **ret_link)
{
    enum placement_reason reason = PLACEMENT_NO_INTERFACE;
    uint8_t longest = 0;
    *ret_link = NULL;
    if (!facts->links || !facts->link_addresses)
        return reason;
    sorted_each(const struct link_address, address, facts->link_addresses) {
        const struct link *link = link_find(facts->links, address->ifindex);
        if (!link || link->type != ARPHRD_ETHER || !placement_is_on(address, ip) ||
            (interface && strcmp(link->name, interface) != 0))
            continue;
        if (!link->up || link->unplugged || link_port_of(facts->links, link)) {
            reason = *ret_link ? reason : why_not_by(facts, link);
        } else if (!*ret_link || address->length > longest) {
            *ret_link = link;
            longest = address->length;
            reason = PLACEMENT_MAY;
        }
    }
    return reason;
}

/* ---- The order ---- */

static uint64_t weight_of(const struct placement *placement, const char *node)
{
    static const uint8_t key[16] = "fingerpost/place";
    const uint64_t parts[] = {
        siphash(placement->key, strlen(placement->key), key),
        siphash(node, strlen(node), key),
    };
    return siphash(parts, sizeof(parts), key);
}

/* Whether `node` comes before this node. */
static bool is_before(const struct placement *placement, const struct placement_node *node)
{
    if (node->lacks != placement->lacks)
        return placement->lacks;
    uint64_t theirs = weight_of(placement, node->name), own = weight_of(placement, placement->self);
    return theirs != own ? theirs > own : strcmp(node->name, placement->self) < 0;
}

static bool is_holder(const struct placement *placement)
{
    return placement->may && strcmp(placement->holder, placement->self) == 0;
}

const char *placement_first(const struct placement *placement)
{
    const struct placement_node *first = NULL;
    uint64_t most = 0;
    if (!placement->others)
        return NULL;
    vec_each(const struct placement_node, node, &placement->others->nodes) {
        uint64_t weight = weight_of(placement, node->name);
        bool better = !first || (first->lacks != node->lacks ? first->lacks : weight > most);
        if (!is_before(placement, node) || !better)
            continue;
        first = node;
        most = weight;
    }
    return first ? first->name : NULL;
}

static int64_t goes_back_ms(const struct placement *placement, const struct placement_node *node)
{
    bool soon = placement->lacks && !node->lacks;
    int64_t wait_ms = soon ? MIN(placement->failback_ms, LACKING_MS) : placement->failback_ms;
    int64_t from_ms = MAX(node->since_ms, placement->held_since_ms) + wait_ms;
    bool passed_over = placement->passed_over && strcmp(placement->passed_over, node->name) == 0;
    return passed_over ? MAX(from_ms, placement->passed_until_ms) : from_ms;
}

int64_t placement_next_ms(const struct placement *placement)
{
    int64_t next_ms = INT64_MAX;
    if (placement->failback_ms < 0 || !placement->others || !is_holder(placement))
        return next_ms;
    vec_each(const struct placement_node, node, &placement->others->nodes) {
        if (is_before(placement, node))
            next_ms = MIN(next_ms, goes_back_ms(placement, node));
    }
    return next_ms;
}

int32_t placement_rank(const struct placement *placement, int64_t now_ms)
{
    int32_t rank = 0;
    if (!placement->may)
        return LEASE_NO_RANK;
    if (is_holder(placement))
        return now_ms >= placement_next_ms(placement) ? LEASE_NO_RANK : 0;
    if (!placement->others)
        return rank;
    vec_each(const struct placement_node, node, &placement->others->nodes) {
        if (strcmp(node->name, placement->holder) != 0)
            rank += is_before(placement, node);
    }
    return rank;
}
