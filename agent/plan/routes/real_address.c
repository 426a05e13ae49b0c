// SPDX-License-Identifier: Apache-2.0
/*
 * The owner of an address other than a Service; see real_address.h.
 *
 * status.loadBalancer and externalIPs may be set by any client with the right to write these
 * fields. Nodes' objects and this node's interfaces have precedence: an address already in use
 * keeps its owner. Otherwise a Service would take every port of it, on this node and, by BGP, in
 * the whole network.
 *
 * kube-proxy in IPVS mode adds every service address to a device of its own, and leaves the device
 * behind when it is removed. Addresses there do not count as in use.
 *
 * Called for each planned address. Interfaces of pods have no addresses, so there are few to check;
 * kube-proxy's device, which may have thousands, is skipped.
 */
#include "plan/routes/real_address.h"

#include <stdio.h>

#include "model/node.h"
#include "plan/link_table.h"
#include "plan/pools/advertised.h"

#define IPVS_DEVICE "kube-ipvs0"

static bool tell(enum address_reason reason, const char *of, struct real_address *ret_real)
{
    ret_real->reason = reason;
    (void)snprintf(ret_real->of, sizeof(ret_real->of), "%s", of);
    return true;
}

static const struct link *ipvs_device(const struct node_facts *facts)
{
    return facts->links ? link_named(facts->links, IPVS_DEVICE) : NULL;
}

/* The index after all addresses of an interface. */
static size_t behind(const struct sorted *addresses, uint32_t ifindex)
{
    return sorted_lower_bound(addresses, &(struct link_address){ .ifindex = ifindex + 1 });
}

/*
 * An interface's address with its length, at `*index` or later; NULL: there is none. kube-proxy's
 * device is skipped as a whole.
 */
static const struct link_address *next_at(const struct node_facts *facts, const struct ip *ip,
                                          size_t *index)
{
    const struct sorted *addresses = facts->link_addresses;
    const struct link *ipvs = ipvs_device(facts);
    while (*index < addresses->count) {
        const struct link_address *address = sorted_at(addresses, *index);
        if (ipvs && address->ifindex == ipvs->ifindex) {
            *index = behind(addresses, ipvs->ifindex);
            continue;
        }
        ++*index;
        if (ip_equal(&address->ip, ip))
            return address;
    }
    return NULL;
}

const struct link *real_interface_of(const struct node_facts *facts, const struct ip *ip)
{
    const struct prefix host = ip_host_prefix(ip);
    size_t index = 0;
    if (!facts->link_addresses || !facts->links || !facts->local_prefixes ||
        !sorted_find(facts->local_prefixes, &host))
        return NULL;
    const struct link_address *address = next_at(facts, ip, &index);
    return address ? link_find(facts->links, address->ifindex) : NULL;
}

/*
 * A connected network of this node, the shortest prefix. A network of a single address is the other
 * end of a link; if kube-proxy's device exists, it may be an address of that, and does not count.
 * Looked up by each length, since that device may have thousands.
 */
static const struct prefix *network_of(const struct node_facts *facts, const struct ip *ip)
{
    const unsigned longest = ipvs_device(facts) ? ip_bits(ip) - 1u : ip_bits(ip);
    for (unsigned length = 0; facts->local_prefixes && length <= longest; length++) {
        const struct prefix key = ip_network(ip, (uint8_t)length);
        const struct prefix *found = sorted_find(facts->local_prefixes, &key);
        if (found)
            return found;
    }
    return NULL;
}

/* Whether a network is not only the pods': it also contains this node's address. */
static bool has_nodes(const struct node_facts *facts, const struct prefix *network)
{
    const struct object *object = store_get(facts->store, KIND_NODE, "", facts->config->node);
    const struct node *node = object ? to_node(object) : NULL;
    return node && (prefix_contains(network, &node->primary_v4) ||
                    prefix_contains(network, &node->primary_v6));
}

/*
 * The pod network of an address. A configured one that also covers the nodes means the whole site,
 * and Services' addresses may be in it.
 */
static const struct prefix *pods_with(const struct node_facts *facts, const struct ip *ip)
{
    vec_each(const struct prefix, prefix, &facts->config->services.cluster_cidrs) {
        if (prefix_contains(prefix, ip) && !has_nodes(facts, prefix))
            return prefix;
    }
    return NULL;
}

/* Whether a range of `length` or longer contains it. */
static bool has_range(const prefix_list *ranges, uint8_t length, const struct ip *ip)
{
    vec_each(const struct prefix, range, ranges) {
        if (range->length >= length && prefix_contains(range, ip))
            return true;
    }
    return false;
}

/*
 * A range from which Services get addresses is reserved for them; the range of all addresses is no
 * such statement. Ranges of external IPs only limit what users may write, so a wide one is no
 * statement about a network either.
 */
static bool is_meant_for_services(const struct node_facts *facts, const struct prefix *network,
                                  const struct ip *ip)
{
    const struct config *config = facts->config;
    return advertised_pool(facts->store, ip) ||
           has_range(&config->services.load_balancer_ips, 1, ip) ||
           has_range(&config->services.external_ips, network->length, ip) ||
           has_range(&config->addresses.claim, 1, ip);
}

bool real_network_around(const struct node_facts *facts, const struct ip *ip,
                         struct prefix *ret_network)
{
    const struct object *object = store_get(facts->store, KIND_NODE, "", facts->config->node);
    const struct ip *own = NULL;
    if (object)
        own = ip->family == IP_V4 ? &to_node(object)->primary_v4 : &to_node(object)->primary_v6;
    if (!own || own->family == IP_NONE || !facts->link_addresses)
        return false;
    const struct link_address *address;
    for (size_t index = 0; (address = next_at(facts, own, &index));) {
        if (address->length >= ip_bits(own))
            continue;
        *ret_network = ip_network(ip, address->length);
        return true;
    }
    return false;
}

bool real_network_of(const struct node_facts *facts, const struct ip *ip,
                     struct real_address *ret_real)
{
    struct prefix network;
    const struct object *object;
    char text[PREFIX_STRLEN];
    if (!real_network_around(facts, ip, &network) || is_meant_for_services(facts, &network, ip))
        return false;
    for (size_t cursor = 0; (object = store_next(facts->store, KIND_NODE, &cursor));) {
        const struct node *node = to_node(object);
        if (!prefix_contains(&network, &node->primary_v4) &&
            !prefix_contains(&network, &node->primary_v6))
            continue;
        ret_real->reason = REASON_NODE_NETWORK;
        (void)snprintf(ret_real->of, sizeof(ret_real->of), "%s of %s", prefix_str(&network, text),
                       object->name);
        return true;
    }
    return false;
}

bool real_address_of(const struct node_facts *facts, const struct ip *ip,
                     struct real_address *ret_real)
{
    char text[PREFIX_STRLEN];
    const struct node *node = store_node_at(facts->store, ip);
    if (node)
        return tell(REASON_NODE_ADDRESS, node->object.name, ret_real);
    const struct link *link = real_interface_of(facts, ip);
    if (link)
        return tell(REASON_LOCAL_ADDRESS, link->name, ret_real);
    const struct prefix *network = network_of(facts, ip);
    if (network)
        return tell(REASON_CONNECTED_NETWORK, prefix_str(network, text), ret_real);
    network = pods_with(facts, ip);
    return network && tell(REASON_POD_NETWORK, prefix_str(network, text), ret_real);
}
