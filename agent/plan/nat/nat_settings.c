// SPDX-License-Identifier: Apache-2.0
/*
 * Settings for all Services: which addresses are pods', which are reserved for ClusterIPs, which
 * are other Nodes', and which ports masquerading may use.
 *
 * Pods are identified by their source address: by services.clusterCIDRs if set, else by the
 * AddressBlocks and the podCIDRs of all Nodes. In a family without such a network, also if the list
 * is explicitly empty, the program identifies pods by their incoming interface
 * (bpf/nat/delivery.h).
 *
 * The program compares the source of every new flow with every network. So the networks are
 * aggregated to the fewest that cover the same addresses.
 *
 * The program also gets the other Nodes' addresses: an ICMP error about one of their flows may
 * arrive here (bpf/nat/spread.h).
 *
 * Called by the NAT engine at start, on reload, and when plan_nat_affected() requires it.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/abi.h"
#include "faults/nat.h"
#include "faults/raise.h"
#include "model/address_block.h"
#include "model/node.h"
#include "plan/nat/nat.h"

static int push_net(prefix_list *nets, const struct prefix *net)
{
    return net->ip.family == IP_NONE ? 0 : vec_push(nets, *net);
}

static int push_all(prefix_list *nets, const prefix_list *more)
{
    vec_each(const struct prefix, net, more) {
        int r = push_net(nets, net);
        if (r < 0)
            return r;
    }
    return 0;
}

static int push_block(prefix_list *nets, const struct object *object)
{
    const struct address_block *block = to_address_block(object);
    int r = push_net(nets, &block->ipv4);
    return r < 0 ? r : push_net(nets, &block->ipv6);
}

static int push_node(prefix_list *nets, const struct object *object)
{
    const struct node *node = to_node(object);
    for (uint32_t i = 0; i < node->pod_net_count; i++) {
        int r = push_net(nets, &node->pod_nets[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Adds the subnet if it contains one of the networks. */
static int push_if_used(prefix_list *nets, const struct prefix *subnet)
{
    vec_each(const struct prefix, net, nets) {
        if (prefix_contains(subnet, &net->ip) && net->length >= subnet->length)
            return push_net(nets, subnet);
    }
    return 0;
}

static int push_pool(prefix_list *nets, const struct object *object)
{
    const struct address_pool *pool = to_address_pool(object);
    for (uint32_t i = 0; i < pool->subnet_count; i++) {
        int r = push_if_used(nets, &pool->subnets[i].ipv4);
        if (r < 0)
            return r;
        r = push_if_used(nets, &pool->subnets[i].ipv6);
        if (r < 0)
            return r;
    }
    return 0;
}

static int push_objects(prefix_list *nets, const struct store *store, enum kind kind,
                        int (*push)(prefix_list *, const struct object *))
{
    AUTOVEC object_list objects = { 0 };
    int r = store_list(store, kind, &objects);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &objects) {
        r = push(nets, *object);
        if (r < 0)
            return r;
    }
    return 0;
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

/*
 * In a sorted list a network is directly before those inside it, and the two halves of a prefix are
 * adjacent.
 */
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
    fault_raise(faults, place, nat_networks_too_many, .count = (int64_t)nets->count,
                .most = (int64_t)most, .remedy = remedy);
    nets->count = most;
}

/*
 * Finds the pod networks. Blocks are numerous and change often: if there are more than the
 * program's limit, their pools are used instead.
 */
static int find_pods(const struct node_facts *facts, prefix_list *pods)
{
    const struct config *config = facts->config;
    if (config->services.cluster_cidrs_set)
        return push_all(pods, &config->services.cluster_cidrs);
    int r = push_objects(pods, facts->store, KIND_NODE, push_node);
    if (r < 0)
        return r;
    r = push_objects(pods, facts->store, KIND_ADDRESS_BLOCK, push_block);
    if (r < 0)
        return r;
    reduce(pods);
    return pods->count <= NAT_MAX_POD_NETS
               ? 0
               : push_objects(pods, facts->store, KIND_ADDRESS_POOL, push_pool);
}

/*
 * The networks whose pods are on this node, each behind an interface of its own: blocks allocated
 * by Coil or by agentd. For podCIDRs it is unknown how other plugins connect their pods.
 */
static int find_own_blocks(const struct node_facts *facts, prefix_list *own)
{
    const struct object *object;
    int r = 0;
    for (size_t cursor = 0;
         r == 0 && (object = store_next(facts->store, KIND_ADDRESS_BLOCK, &cursor));) {
        if (strcmp(to_address_block(object)->node, facts->config->node) == 0)
            r = push_block(own, object);
    }
    return r;
}

static int push_peer(ip_list *peers, const struct ip *address)
{
    return address->family == IP_NONE ? 0 : vec_push(peers, *address);
}

/* The other Nodes' addresses, those of IPv4 first. */
static int find_peers(const struct node_facts *facts, ip_list *peers)
{
    AUTOVEC object_list nodes = { 0 };
    int r = store_list(facts->store, KIND_NODE, &nodes);
    for (int four = 1; four >= 0 && r == 0; four--) {
        vec_each(const struct object *, object, &nodes) {
            const struct node *node = to_node(*object);
            if (strcmp(node->object.name, facts->config->node) == 0)
                continue;
            r = push_peer(peers, four ? &node->primary_v4 : &node->primary_v6);
            if (r < 0)
                break;
        }
    }
    return r;
}

/* Whole seconds, the program's unit; rounded up. */
static uint32_t whole_seconds(int64_t ms)
{
    return (uint32_t)((ms + SECOND_MS - 1) / SECOND_MS);
}

static void set_timeouts(const struct flow_timeouts *timeouts,
                         uint32_t ret_timeouts_s[static NAT_STATES])
{
    const int64_t ms[NAT_STATES] = {
        [NAT_STATE_HALF_OPEN] = timeouts->tcp_opening_ms,
        [NAT_STATE_ANSWERED] = timeouts->tcp_opening_ms,
        [NAT_STATE_ESTABLISHED] = timeouts->tcp_established_ms,
        [NAT_STATE_HALF_CLOSED] = timeouts->tcp_half_closed_ms,
        [NAT_STATE_CLOSED] = timeouts->tcp_closed_ms,
        [NAT_STATE_UNANSWERED] = timeouts->udp_ms,
        [NAT_STATE_EXCHANGE] = timeouts->udp_ms,
        [NAT_STATE_STREAM] = timeouts->udp_stream_ms,
    };
    for (enum nat_state state = 0; state < NAT_STATES; state++)
        ret_timeouts_s[state] = whole_seconds(ms[state]);
}

int plan_nat_settings(const struct node_facts *facts, struct nat_settings *ret_settings,
                      struct faults *faults)
{
    const struct config *config = facts->config;
    AUTOVEC prefix_list pods = { 0 };
    AUTOVEC prefix_list services = { 0 }, own = { 0 };
    AUTOVEC ip_list peers = { 0 };
    int r = push_all(&services, &config->services.service_cidrs);
    if (r < 0)
        return r;
    r = find_pods(facts, &pods);
    if (r < 0)
        return r;
    r = find_peers(facts, &peers);
    if (r < 0)
        return r;
    r = find_own_blocks(facts, &own);
    if (r < 0)
        return r;
    reduce(&pods);
    reduce(&services);
    limit(&pods, NAT_MAX_POD_NETS, "services.clusterCIDRs",
          "give networks there that cover all pods", faults);
    limit(&services, NAT_MAX_SERVICE_NETS, "services.serviceCIDRs", "give fewer, larger networks",
          faults);
    *ret_settings = (struct nat_settings){
        .pod_net_count = pods.count,
        .service_net_count = services.count,
        .pod_nets = TAKE_PTR(pods.items),
        .service_nets = TAKE_PTR(services.items),
        .own_block_count = own.count,
        .own_blocks = TAKE_PTR(own.items),
        .peer_count = peers.count,
        .peers = TAKE_PTR(peers.items),
        .snat_first = config->services.snat_ports.first,
        .snat_last = config->services.snat_ports.last,
    };
    set_timeouts(&config->services.timeouts, ret_settings->timeouts_s);
    set_timeouts(&config->egress.gateway.timeouts, ret_settings->egress_timeouts_s);
    ret_settings->egress_icmp_s = whole_seconds(config->egress.gateway.icmp_ms);
    return 0;
}

void nat_settings_done(struct nat_settings *settings)
{
    free((void *)settings->pod_nets);
    free((void *)settings->service_nets);
    free((void *)settings->own_blocks);
    free((void *)settings->peers);
    *settings = (struct nat_settings){ 0 };
}
