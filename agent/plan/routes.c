// SPDX-License-Identifier: Apache-2.0
/*
 * The route planner: objects in, rows out; see routes.h for the contract.
 *
 * An address is announced if and only if this node serves it now. The question is put to every
 * service that names the address, oldest first, in the order of enum address_reason: is the address
 * served at all, are its ports still free here, may this node announce it, has a port a usable
 * endpoint by the policy that applies. Then to the address as a whole: has NAT proved it, is it
 * held down. Where NAT is ours, a service without a ClusterIP of the family is served by nobody:
 * what could never be proved is withheld for that reason. A row keeps the answer of each service,
 * so that `agentctl explain` need not guess.
 *
 * What a row asks of the kernel:
 *   export table (119)   blackhole ADDRESS proto 31 (or 34 + class)   BIRD learns it
 *   guard table (120)    unreachable ADDRESS proto 33                 unmapped ports must not loop
 *   main, with NAT on    ADDRESS dev svc0 src NODE proto 33           instead of that
 *   export table         blackhole BLOCK proto 30
 *   main                 unreachable BLOCK proto 33 metric 4278198272 free pod addresses likewise
 * `blackhole` depends on no link and is learned alike in both families by every BIRD from 2.0; the
 * export table is in no ip rule, so nobody is ever routed by it.
 *
 * With NAT on, svc0's program refuses unmapped ports, and serves the node's own packets. For these
 * each address that NAT serves is led there, also one that this node may not announce (another
 * class, an excluded node, a drained one); ClusterIPs by their networks. That needs no rule where
 * nobody has any: a first rule costs every IPv4 packet of the node the kernel's short way through
 * the tables (docs/architecture.md). Where there are rules already, the guard table
 * leads, with a rule of its own before them.
 *
 * Called by agentd after every change, and by `agentctl plan`. Owns nothing between calls.
 */
#include "plan/routes.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "model/node.h"
#include "plan/claim.h"

static const struct {
    const char *name, *text;
} reasons[] = {
    [REASON_WRONG_TYPE] = { "wrong-type", "the service's type has no such address" },
    [REASON_HEADLESS] = { "headless", "the service has no clusterIP of this family" },
    [REASON_OTHER_PROXY] = { "other-proxy", "labelled for another proxy" },
    [REASON_SPECIAL] = { "special-address", "loopback, link-local or multicast" },
    [REASON_PROXY_MODE] = { "proxy-mode", "ipMode Proxy: the balancer itself owns it" },
    [REASON_OUTSIDE_RANGES] = { "outside-ranges", "not in the configured ranges" },
    [REASON_IN_SERVICE_CIDR] = { "in-service-cidr", "an external IP must not be a ClusterIP" },
    [REASON_PORTS_TAKEN] = { "ports-taken", "its ports belong to an older service" },
    [REASON_OTHER_CLASS] = { "other-class", "its loadBalancerClass is not ours" },
    [REASON_NOT_ADVERTISED] = { "not-advertised", "left out by services.advertise" },
    [REASON_OPTED_OUT] = { "opted-out", "annotation fingerpost.io/announce is false" },
    [REASON_NODE_GONE] = { "node-gone", "this node's Node object was deleted" },
    [REASON_WITHDRAWN] = { "withdrawn", "withdrawn by the operator" },
    [REASON_NODE_EXCLUDED] = { "node-excluded", "this node is excluded from load balancers" },
    [REASON_NETWORK_UNAVAILABLE] = { "network-unavailable", "this node's network is unavailable" },
    [REASON_NO_ENDPOINTS] = { "no-endpoints", "no usable endpoint" },
    [REASON_NO_LOCAL_ENDPOINTS] = { "no-local-endpoints", "policy Local, no usable endpoint here" },
    [REASON_NOT_PROVED] = { "not-proved", "NAT has not proved that it serves" },
    [REASON_HELD_DOWN] = { "held-down", "withdrawn a moment ago, comes back after hold-down" },
    [REASON_ANNOUNCED] = { "announced", "announced" },
};
_Static_assert(ARRAY_SIZE(reasons) == REASON_COUNT, "a reason has no words");

const char *address_reason_name(enum address_reason reason)
{
    return reasons[reason].name;
}

const char *address_reason_text(enum address_reason reason)
{
    return reasons[reason].text;
}

static void port_taken_fault(struct faults *faults, const struct candidate *loser,
                             const struct service_port *port, const struct service *owner)
{
    const struct object *object = &loser->service->object;
    AUTOFREE char *place = text_format("Service %s/%s", object->namespace, object->name);
    char address[IP_STRLEN];
    faults_add(faults, place ? place : "Service", "give one of the two another port or address",
               "%s port %u/%s belongs to the older Service %s/%s",
               ip_str(&loser->address->ip, address), port->port, protocol_name(port->protocol),
               owner->object.namespace, owner->object.name);
}

/* Counts a candidate's own ports and those with endpoints, and says what follows for it. */
static int judge_ports(const struct route_inputs *inputs, const candidate_list *list,
                       struct candidate *candidate, struct faults *faults)
{
    const struct service *service = candidate->service;
    bool local_policy = candidate->address->origin == ADDRESS_CLUSTER ? service->internal_local
                                                                      : service->external_local;
    bool elsewhere = false;

    for (uint32_t i = 0; i < service->port_count; i++) {
        const struct service_port *port = &service->ports[i];
        const struct service *owner = claim_port_owner(list, candidate, port->protocol, port->port);
        if (owner) {
            port_taken_fault(faults, candidate, port, owner);
            continue;
        }
        struct port_endpoints usable;
        int r = claim_port_endpoints(inputs->node, service, port, candidate->address->ip.family,
                                     &usable);
        if (r < 0)
            return r;
        candidate->ports++;
        if (local_policy ? usable.local : usable.anywhere)
            candidate->forwarding++;
        else
            elsewhere |= usable.anywhere;
    }
    candidate->reason = candidate->ports ? claim_announceable(inputs, service, candidate->address)
                                         : REASON_PORTS_TAKEN;
    if (candidate->reason == REASON_ANNOUNCED && candidate->forwarding == 0)
        candidate->reason = elsewhere ? REASON_NO_LOCAL_ENDPOINTS : REASON_NO_ENDPOINTS;
    return 0;
}

static void in_service_cidr_fault(struct faults *faults, const struct candidate *candidate)
{
    const struct object *object = &candidate->service->object;
    AUTOFREE char *place = text_format("Service %s/%s", object->namespace, object->name);
    char address[IP_STRLEN];
    faults_add(faults, place ? place : "Service", "choose an address outside services.serviceCIDRs",
               "externalIP %s is refused: it is a ClusterIP or lies in serviceCIDRs",
               ip_str(&candidate->address->ip, address));
}

/* The node's own addresses and networks, and every Node's addresses, are never guarded. */
static bool is_real_address(const struct node_facts *facts, const struct ip *ip)
{
    if (facts->local_prefixes) {
        for (size_t i = 0; i < facts->local_prefixes->count; i++) {
            if (prefix_contains(sorted_at(facts->local_prefixes, i), ip))
                return true;
        }
    }
    return store_is_node_address(facts->store, ip);
}

static bool is_proved(const struct route_inputs *inputs, const struct ip *ip)
{
    if (!inputs->proofs)
        return true;
    const struct proof *proof = sorted_find(inputs->proofs, &(struct proof){ .address = *ip });
    return proof && proof->proved;
}

static const struct hold *active_hold(const struct route_inputs *inputs, const struct ip *ip)
{
    if (!inputs->holds)
        return NULL;
    const struct hold *hold = sorted_find(inputs->holds, &(struct hold){ .address = *ip });
    return hold && hold->announced_ms == 0 && hold->until_ms > inputs->now_ms ? hold : NULL;
}

/* One allocation: the row, its claims, then their strings. */
static struct address_row *row_new(const struct ip *ip, const candidate_list *list)
{
    size_t size = sizeof(struct address_row) + list->count * sizeof(struct claim);
    vec_each(const struct candidate, candidate, list) {
        const struct object *object = &candidate->service->object;
        size += strlen(object->namespace) + strlen(object->name) + 2;
    }
    struct address_row *row = calloc(1, size);
    if (!row)
        return NULL;

    row->address = *ip;
    char *strings = (char *)&row->claims[list->count];
    vec_each(const struct candidate, candidate, list) {
        const struct object *object = &candidate->service->object;
        struct claim *claim = &row->claims[row->claim_count++];
        claim->namespace = strings;
        strings = stpcpy(strings, object->namespace) + 1;
        claim->name = strings;
        strings = stpcpy(strings, object->name) + 1;
        claim->origin = candidate->address->origin;
        claim->reason = candidate->reason;
        claim->ports = candidate->ports;
        claim->forwarding = candidate->forwarding;
        row->reason = MAX(row->reason, candidate->reason);
    }
    return row;
}

/* The protocol number of the oldest service that the address is announced for. */
static uint8_t announced_protocol(const struct route_inputs *inputs, const candidate_list *list)
{
    if (inputs->standing == STANDING_DRAINING)
        return ROUTE_PROTOCOL_DRAINING;
    vec_each(const struct candidate, candidate, list) {
        int class = candidate->service->route_class;
        if (candidate->reason == REASON_ANNOUNCED)
            return (
                uint8_t)(class >= 0 ? ROUTE_PROTOCOL_CLASS_FIRST + class : ROUTE_PROTOCOL_SERVICE);
    }
    return 0;
}

/* What holds for the address as a whole overrules the services that would be announced. */
static void overrule(candidate_list *list, enum address_reason reason)
{
    vec_each(struct candidate, candidate, list) {
        if (candidate->reason == REASON_ANNOUNCED)
            candidate->reason = reason;
    }
}

static struct lead lead_of(const struct nat_way *way, uint8_t family)
{
    if (!way)
        return (struct lead){ 0 };
    return (struct lead){ way->ifindex, family == IP_V4 ? way->v4 : way->v6 };
}

/* A network of this node that a prefix overlaps, or NULL. */
static const struct prefix *overlapped(const struct node_facts *facts, const struct prefix *prefix)
{
    for (size_t i = 0; facts->local_prefixes && i < facts->local_prefixes->count; i++) {
        const struct prefix *local = sorted_at(facts->local_prefixes, i);
        if (prefix_contains(local, &prefix->ip) || prefix_contains(prefix, &local->ip))
            return local;
    }
    return NULL;
}

/* A ClusterIP needs no route of its own where plan_nets() has one for its network. */
static bool has_net(const struct node_facts *facts, const struct ip *ip)
{
    vec_each(const struct prefix, net, &facts->config->services.service_cidrs) {
        if (prefix_contains(net, ip) && !overlapped(facts, net))
            return true;
    }
    return false;
}

/* What the kernel is asked for beside the announcement. */
static void guard_row(const struct node_facts *facts, bool may_announce, struct address_row *row)
{
    bool served = row->reason >= REASON_PORTS_TAKEN; /* by one of the services at least */
    const struct service *owner = claim_cluster_ip_owner(facts, &row->address);
    row->foreign = facts->nat_way && owner && has_net(facts, &row->address) &&
                   claim_service(facts->config, owner) == REASON_OTHER_PROXY;
    if (!served || row->foreign || is_real_address(facts, &row->address))
        return;
    row->guarded = may_announce;
    if (row->guarded || !has_net(facts, &row->address))
        row->lead = lead_of(facts->nat_way, row->address.family);
}

int plan_address(const struct route_inputs *inputs, const struct ip *address,
                 struct address_row **ret_row, struct faults *faults)
{
    const struct node_facts *facts = inputs->node;
    candidate_list list = {};
    int r = facts->config->services.enabled ? claim_nat_candidates(facts, address, &list)
                                            : claim_candidates(facts, address, &list);
    bool may_announce = false;

    vec_each(struct candidate, candidate, &list) {
        if (candidate->reason == REASON_IN_SERVICE_CIDR)
            in_service_cidr_fault(faults, candidate);
        if (r == 0 && candidate->reason == REASON_ANNOUNCED)
            r = judge_ports(inputs, &list, candidate, faults);
        may_announce |= candidate->reason >= REASON_NO_ENDPOINTS;
    }
    const struct hold *hold = active_hold(inputs, address);
    if (!is_proved(inputs, address))
        overrule(&list, REASON_NOT_PROVED);
    else if (hold)
        overrule(&list, REASON_HELD_DOWN);

    struct address_row *row = NULL;
    if (r == 0 && list.count) {
        row = row_new(address, &list);
        r = row ? 0 : -ENOMEM;
    }
    if (row) {
        row->protocol = row->reason == REASON_ANNOUNCED ? announced_protocol(inputs, &list) : 0;
        guard_row(facts, may_announce, row);
        row->held_until_ms = row->reason == REASON_HELD_DOWN ? hold->until_ms : 0;
    }
    vec_done(&list);
    if (r == 0)
        *ret_row = row;
    return r;
}

void address_row_free(struct address_row *row)
{
    free(row);
}

static int address_row_cmp(const void *a, const void *b)
{
    const struct address_row *const *first = a, *const *second = b;
    return ip_cmp(&(*first)->address, &(*second)->address);
}

int proof_cmp(const void *a, const void *b)
{
    return ip_cmp(&((const struct proof *)a)->address, &((const struct proof *)b)->address);
}

int block_row_cmp(const void *a, const void *b)
{
    const struct block_row *first = a, *second = b;
    int r = prefix_cmp(&first->prefix, &second->prefix);
    return r ? r : strcmp(first->block, second->block);
}

int plan_block(const struct route_inputs *inputs, const struct address_block *block,
               struct block_row ret_rows[static 2])
{
    if (!block || strcmp(block->node, inputs->node->config->node) != 0 ||
        inputs->standing == STANDING_GONE)
        return 0;

    int count = 0;
    const struct prefix *const prefixes[] = { &block->ipv4, &block->ipv6 };
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        if (prefixes[i]->ip.family == IP_NONE)
            continue;
        struct block_row *row = &ret_rows[count++];
        *row = (struct block_row){ .prefix = *prefixes[i], .reserved = block->reserved };
        snprintf(row->block, sizeof(row->block), "%s", block->object.name);
        snprintf(row->pool, sizeof(row->pool), "%s", block->pool);
    }
    return count;
}

static int plan_all_addresses(const struct route_inputs *inputs, struct sorted *rows,
                              struct faults *faults)
{
    ip_list addresses = {};
    int r = store_addresses(inputs->node->store, &addresses);
    vec_each(const struct ip, address, &addresses) {
        struct address_row *row = NULL;
        if (r == 0)
            r = plan_address(inputs, address, &row, faults);
        if (row) {
            r = sorted_put(rows, &row);
            if (r < 0)
                address_row_free(row);
        }
        if (r < 0)
            break;
    }
    vec_done(&addresses);
    return r;
}

int plan_blocks(const struct route_inputs *inputs, struct sorted *ret_rows)
{
    struct sorted rows = SORTED(struct block_row, block_row_cmp);
    object_list blocks = {};
    int r = store_list(inputs->node->store, KIND_ADDRESS_BLOCK, &blocks);
    vec_each(const struct object *, block, &blocks) {
        struct block_row found[2];
        int count = r == 0 ? plan_block(inputs, to_address_block(*block), found) : 0;
        for (int i = 0; r == 0 && i < count; i++)
            r = sorted_put(&rows, &found[i]);
    }
    vec_done(&blocks);
    if (r < 0)
        sorted_done(&rows);
    else
        *ret_rows = rows;
    return r;
}

static int net_row_cmp(const void *a, const void *b)
{
    return prefix_cmp(&((const struct net_row *)a)->prefix, &((const struct net_row *)b)->prefix);
}

int plan_nets(const struct node_facts *facts, struct sorted *ret_rows, struct faults *faults)
{
    struct sorted rows = SORTED(struct net_row, net_row_cmp);
    int r = 0;
    vec_each(const struct prefix, prefix, &facts->config->services.service_cidrs) {
        struct net_row row = { *prefix, lead_of(facts->nat_way, prefix->ip.family) };
        if (row.lead.ifindex == 0 || r < 0)
            continue;
        const struct prefix *real = overlapped(facts, prefix);
        char text[PREFIX_STRLEN], network[PREFIX_STRLEN];
        if (real)
            faults_add(faults, "services.serviceCIDRs", "name the networks of ClusterIPs only",
                       "%s overlaps this node's network %s: unallocated addresses in it are not "
                       "refused to the node itself",
                       prefix_str(prefix, text), prefix_str(real, network));
        else
            r = sorted_put(&rows, &row);
    }
    if (r < 0)
        sorted_done(&rows);
    else
        *ret_rows = rows;
    return r;
}

void route_plan_init(struct route_plan *plan)
{
    *plan = (struct route_plan){
        .addresses = SORTED(struct address_row *, address_row_cmp),
        .blocks = SORTED(struct block_row, block_row_cmp),
        .nets = SORTED(struct net_row, net_row_cmp),
    };
}

void route_plan_done(struct route_plan *plan)
{
    for (size_t i = 0; i < plan->addresses.count; i++)
        address_row_free(*(struct address_row **)sorted_at(&plan->addresses, i));
    sorted_done(&plan->addresses);
    sorted_done(&plan->blocks);
    sorted_done(&plan->nets);
}

bool plan_lead(const struct node_facts *facts, const struct route_plan *plan)
{
    return facts->other_rules || plan->foreign;
}

int plan_routes(const struct route_inputs *inputs, struct route_plan *ret_plan,
                struct faults *faults)
{
    struct route_plan plan;
    route_plan_init(&plan);
    int r = plan_all_addresses(inputs, &plan.addresses, faults);
    if (r == 0)
        r = plan_blocks(inputs, &plan.blocks);
    if (r == 0)
        r = plan_nets(inputs->node, &plan.nets, faults);
    if (r < 0) {
        route_plan_done(&plan);
        return r;
    }
    sorted_each(struct address_row *const, row, &plan.addresses)
        plan.foreign += (*row)->foreign;
    plan.led_by_rule = plan_lead(inputs->node, &plan);
    *ret_plan = plan;
    return 0;
}
