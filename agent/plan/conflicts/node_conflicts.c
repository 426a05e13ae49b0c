// SPDX-License-Identifier: Apache-2.0
/*
 * Conflicts of this node with others; see node_conflicts.h. Called by the engine of conflicts when
 * a Node or a block changes, or a Service whose address is in one of this node's networks; and by
 * agentctl doctor.
 *
 * Blocks are compared with blocks and podCIDRs with podCIDRs: a cluster with blocks may have unused
 * podCIDRs. Conflicts are only reported, since pods may have used the addresses for long. All Nodes
 * and blocks are compared with the few networks of this node.
 */
#include "plan/conflicts/node_conflicts.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "faults/networks.h"
#include "model/address_block.h"
#include "model/node.h"
#include "model/services/service.h"
#include "plan/object_fault.h"

/* One of this node's networks, and its owner: "Node node1", "AddressBlock default-3". */
struct own_net {
    const struct prefix *net;
    const struct object *object;
};
typedef VEC(struct own_net) own_net_list;

static bool overlap(const struct prefix *a, const struct prefix *b)
{
    if (a->ip.family == IP_NONE || a->ip.family != b->ip.family)
        return false;
    return prefix_contains(a, &b->ip) || prefix_contains(b, &a->ip);
}

static int push_net(own_net_list *list, const struct prefix *net, const struct object *object)
{
    const struct own_net own = { net, object };
    return net->ip.family == IP_NONE ? 0 : vec_push(list, own);
}

/* The networks of a Node or a block. */
static int push_nets(own_net_list *list, const struct object *object)
{
    if (object->kind == KIND_NODE) {
        const struct node *node = to_node(object);
        int r = 0;
        for (uint32_t i = 0; i < node->pod_net_count && r == 0; i++)
            r = push_net(list, &node->pod_nets[i], object);
        return r;
    }
    const struct address_block *block = to_address_block(object);
    int r = push_net(list, &block->ipv4, object);
    return r < 0 ? r : push_net(list, &block->ipv6, object);
}

static const char *node_of(const struct object *object)
{
    return object->kind == KIND_NODE ? object->name : to_address_block(object)->node;
}

static int find_own(const struct store *store, const char *name, enum kind kind, own_net_list *list)
{
    const struct object *object;
    int r = 0;
    for (size_t cursor = 0; r == 0 && (object = store_next(store, kind, &cursor));)
        r = strcmp(node_of(object), name) == 0 ? push_nets(list, object) : 0;
    return r;
}

static void tell_overlap(const struct own_net *mine, const struct object *other,
                         struct faults *faults)
{
    char buffer[PREFIX_STRLEN];
    const char *network = prefix_str(mine->net, buffer);
    if (other->kind == KIND_NODE)
        object_raise(faults, mine->object, node_network_overlaps, .network = network,
                     .node = other->name);
    else
        object_raise(faults, mine->object, block_overlaps_other, .network = network,
                     .other = other->name, .node = node_of(other));
}

/* True if a fault was added. */
static bool compare_nets(const own_net_list *own, const struct object *other,
                         const own_net_list *theirs, struct faults *faults)
{
    vec_each(const struct own_net, mine, own) {
        vec_each(const struct own_net, net, theirs) {
            if (mine->object->kind != other->kind || !overlap(mine->net, net->net))
                continue;
            tell_overlap(mine, other, faults);
            return true;
        }
    }
    return false;
}

static int check_others(const struct store *store, const char *name, enum kind kind,
                        const own_net_list *own, struct faults *faults)
{
    AUTOVEC own_net_list theirs = { 0 };
    const struct object *object;
    bool told = false;
    for (size_t cursor = 0; !told && (object = store_next(store, kind, &cursor));) {
        if (strcmp(node_of(object), name) == 0)
            continue;
        vec_clear(&theirs);
        int r = push_nets(&theirs, object);
        if (r < 0)
            return r;
        told = compare_nets(own, object, &theirs, faults);
    }
    return 0;
}

static bool same_ip(const struct ip *a, const struct ip *b)
{
    return a->family != IP_NONE && ip_equal(a, b);
}

static void check_twin(const struct store *store, const struct object *self, struct faults *faults)
{
    const struct node *mine = to_node(self);
    const struct object *object;
    char buffer[IP_STRLEN];
    for (size_t cursor = 0; (object = store_next(store, KIND_NODE, &cursor));) {
        const struct node *node = to_node(object);
        const bool v4 = same_ip(&mine->primary_v4, &node->primary_v4);
        if (object == self || (!v4 && !same_ip(&mine->primary_v6, &node->primary_v6)))
            continue;
        object_raise(faults, self, node_address_shared,
                     .address = ip_str(v4 ? &mine->primary_v4 : &mine->primary_v6, buffer),
                     .node = object->name);
        return;
    }
}

static void check_services(const struct config *config, const own_net_list *own,
                           struct faults *faults)
{
    char mine[PREFIX_STRLEN], theirs[PREFIX_STRLEN];
    vec_each(const struct own_net, net, own) {
        vec_each(const struct prefix, services, &config->services.service_cidrs) {
            if (!overlap(net->net, services))
                continue;
            object_raise(faults, net->object, pod_network_overlaps_services,
                         .network = prefix_str(net->net, mine),
                         .services = prefix_str(services, theirs));
            return;
        }
    }
}

static const struct service *service_at(const struct store *store, const struct ip *ip)
{
    size_t count;
    const struct service *const *services = store_services_at(store, ip, &count);
    return count ? services[0] : NULL;
}

/* ClusterIPs are reported above, if their network is known. */
static int check_addresses(const struct store *store, const own_net_list *own,
                           struct faults *faults)
{
    AUTOVEC ip_list addresses = { 0 };
    char buffer[IP_STRLEN];
    int r = own->count ? store_addresses(store, &addresses) : 0;
    vec_each(const struct own_net, net, own) {
        vec_each(const struct ip, ip, &addresses) {
            const struct service *service =
                net->object->kind == KIND_ADDRESS_BLOCK && prefix_contains(net->net, ip)
                    ? service_at(store, ip)
                    : NULL;
            if (!service)
                continue;
            AUTOFREE char *name =
                text_format("%s/%s", service->object.namespace, service->object.name);
            object_raise(faults, net->object, block_has_service_address,
                         .address = ip_str(ip, buffer), .service = name);
            return name ? 0 : -ENOMEM;
        }
    }
    return r;
}

int node_conflicts(const struct store *store, const struct config *config, prefix_list *own,
                   struct faults *faults)
{
    AUTOVEC own_net_list nets = { 0 };
    const struct object *self = store_get(store, KIND_NODE, "", config->node);
    int r = find_own(store, config->node, KIND_NODE, &nets);
    if (r < 0)
        return r;
    r = find_own(store, config->node, KIND_ADDRESS_BLOCK, &nets);
    if (r < 0)
        return r;
    vec_each(const struct own_net, net, &nets) {
        r = vec_push(own, *net->net);
        if (r < 0)
            return r;
    }
    if (self)
        check_twin(store, self, faults);
    r = check_others(store, config->node, KIND_NODE, &nets, faults);
    if (r < 0)
        return r;
    r = check_others(store, config->node, KIND_ADDRESS_BLOCK, &nets, faults);
    if (r < 0)
        return r;
    check_services(config, &nets, faults);
    return check_addresses(store, &nets, faults);
}
