// SPDX-License-Identifier: Apache-2.0
/*
 * This node's own addresses, from its Node object and its interfaces; see nat_addresses.h.
 *
 * The Node object has the node's addresses, but not all of its interfaces'; `agentctl plan` does
 * not have the interfaces. So node ports are served on the addresses of both. Loopback addresses
 * are in neither list.
 */
#include "plan/nat/nat_addresses.h"

#include "base/macro.h"
#include "plan/link_table.h"
#include "plan/routes/claim.h"

const struct node *nat_this_node(const struct node_facts *facts)
{
    const struct object *object = store_get(facts->store, KIND_NODE, "", facts->config->node);
    return object ? to_node(object) : NULL;
}

const struct ip *nat_primary(const struct node_facts *facts, uint8_t family)
{
    const struct node *node = nat_this_node(facts);
    if (node) {
        const struct ip *primary = family == IP_V4 ? &node->primary_v4 : &node->primary_v6;
        if (primary->family != IP_NONE)
            return primary;
    }
    const struct ip *source = &facts->default_source[family == IP_V6];
    return source->family == IP_NONE ? NULL : source;
}

/* Which of a family's addresses are wanted. */
struct wanted {
    const struct node_facts *facts;
    const struct ip *primary;
    uint8_t family;
    bool all;
};

static int push_if_wanted(const struct wanted *wanted, const struct ip *ip, ip_list *list)
{
    const struct config *config = wanted->facts->config;
    const struct ip *primary = wanted->primary;
    bool is_primary = config->services.node_port_primary && primary && ip_equal(ip, primary);
    if (ip->family != wanted->family ||
        (!wanted->all && !is_primary &&
         !claim_in_ranges(&config->services.node_port_addresses, ip)))
        return 0;
    return vec_push(list, *ip);
}

static int push_link_addresses(const struct wanted *wanted, ip_list *list)
{
    const struct sorted *addresses = wanted->facts->link_addresses;
    for (size_t i = 0; addresses && i < addresses->count; i++) {
        const struct link_address *address = sorted_at(addresses, i);
        int r = push_if_wanted(wanted, &address->ip, list);
        if (r < 0)
            return r;
    }
    return 0;
}

static int push_all(const struct wanted *wanted, ip_list *list)
{
    const struct node *node = nat_this_node(wanted->facts);
    for (uint32_t i = 0; node && i < node->address_count; i++) {
        int r = push_if_wanted(wanted, &node->addresses[i], list);
        if (r < 0)
            return r;
    }
    int r = push_link_addresses(wanted, list);
    if (r < 0)
        return r;
    /* The default route's source may be on no interface, nor in the Node object. */
    if (wanted->primary == &wanted->facts->default_source[wanted->family == IP_V6])
        r = push_if_wanted(wanted, wanted->primary, list);
    return r;
}

int nat_node_port_addresses(const struct node_facts *facts, uint8_t family, ip_list *list)
{
    const struct config *config = facts->config;
    struct wanted wanted = {
        .facts = facts,
        .primary = nat_primary(facts, family),
        .family = family,
        .all = !config->services.node_port_primary,
    };
    /* Ranges of only the other family do not restrict this one. */
    vec_each(const struct prefix, range, &config->services.node_port_addresses) {
        wanted.all &= range->ip.family != family;
    }
    int r = push_all(&wanted, list);
    ip_list_unite(list);
    return r;
}
