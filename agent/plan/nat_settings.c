// SPDX-License-Identifier: Apache-2.0
/*
 * What holds for all Services: which addresses are pods, which are kept for ClusterIPs, and which
 * ports masquerading may use.
 *
 * Networks are given as users think of them, and looked at for every packet: they are reduced to
 * the fewest that cover the same addresses. So a pool swallows its blocks, and the blocks of a pool
 * that is not known take few entries where they lie side by side.
 *
 * Called by agentd at start, on reload, and when plan_nat_affected() says so.
 */
#include <errno.h>

#include "bpf/abi.h"
#include "model/address_block.h"
#include "plan/nat.h"

static int push_net(prefix_list *nets, const struct prefix *net)
{
    return net->ip.family == IP_NONE ? 0 : vec_push(nets, *net);
}

static int push_all(prefix_list *nets, const prefix_list *more)
{
    int r = 0;
    vec_each(const struct prefix, net, more) {
        if (r == 0)
            r = push_net(nets, net);
    }
    return r;
}

static int push_pool(prefix_list *nets, const struct object *object)
{
    const struct address_pool *pool = to_address_pool(object);
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < pool->subnet_count; i++) {
        r = push_net(nets, &pool->subnets[i].ipv4);
        if (r == 0)
            r = push_net(nets, &pool->subnets[i].ipv6);
    }
    return r;
}

static int push_block(prefix_list *nets, const struct object *object)
{
    const struct address_block *block = to_address_block(object);
    int r = push_net(nets, &block->ipv4);
    return r < 0 ? r : push_net(nets, &block->ipv6);
}

static int push_objects(prefix_list *nets, const struct store *store, enum kind kind,
                        int (*push)(prefix_list *, const struct object *))
{
    object_list objects = { 0 };
    int r = store_list(store, kind, &objects);
    vec_each(const struct object *, object, &objects) {
        if (r == 0)
            r = push(nets, *object);
    }
    vec_done(&objects);
    return r;
}

static bool is_sibling(const struct prefix *left, const struct prefix *right)
{
    if (left->length != right->length || left->length == 0)
        return false;
    struct prefix parent = { .ip = left->ip, .length = (uint8_t)(left->length - 1) };
    size_t byte = parent.length / 8;
    uint8_t bit = (uint8_t)(0x80 >> parent.length % 8);
    return !(left->ip.bytes[byte] & bit) && prefix_contains(&parent, &right->ip);
}

/* Sorted, a network stands right before those inside it, and halves stand side by side. */
static void reduce(prefix_list *nets)
{
    struct prefix *kept = nets->items;
    size_t count = 0;
    vec_sort(nets, prefix_item_cmp);
    vec_each(const struct prefix, net, nets) {
        if (count && prefix_contains(&kept[count - 1], &net->ip))
            continue;
        kept[count++] = *net;
        while (count > 1 && is_sibling(&kept[count - 2], &kept[count - 1])) {
            kept[count - 2].length--;
            count--;
        }
    }
    nets->count = count;
}

static void limit(prefix_list *nets, size_t most, const char *place, const char *remedy,
                  struct faults *faults)
{
    if (nets->count <= most)
        return;
    faults_add(faults, place, remedy, "%zu networks, of which only the first %zu count",
               nets->count, most);
    nets->count = most;
}

int plan_nat_settings(const struct node_facts *facts, struct nat_settings *ret_settings,
                      struct faults *faults)
{
    const struct config *config = facts->config;
    prefix_list pods = { 0 }, services = { 0 };
    int r = push_all(&services, &config->services.service_cidrs);
    if (r == 0 && config->services.cluster_cidrs_set)
        r = push_all(&pods, &config->services.cluster_cidrs);
    if (r == 0 && !config->services.cluster_cidrs_set) {
        r = push_objects(&pods, facts->store, KIND_ADDRESS_POOL, push_pool);
        if (r == 0)
            r = push_objects(&pods, facts->store, KIND_ADDRESS_BLOCK, push_block);
    }
    if (r < 0) {
        vec_done(&pods);
        vec_done(&services);
        return r;
    }
    reduce(&pods);
    reduce(&services);
    limit(&pods, NAT_MAX_POD_NETS, "services.clusterCIDRs",
          "give networks there that cover all pods", faults);
    limit(&services, NAT_MAX_SERVICE_NETS, "services.serviceCIDRs", "give fewer, larger networks",
          faults);
    *ret_settings = (struct nat_settings){
        .pod_nets = pods.items,
        .service_nets = services.items,
        .pod_net_count = pods.count,
        .service_net_count = services.count,
        .snat_first = config->services.snat_port_first,
        .snat_last = config->services.snat_port_last,
    };
    return 0;
}

void nat_settings_done(struct nat_settings *settings)
{
    free((void *)settings->pod_nets);
    free((void *)settings->service_nets);
    *settings = (struct nat_settings){ 0 };
}
