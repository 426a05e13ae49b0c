// SPDX-License-Identifier: Apache-2.0
/*
 * Plans one address; see address_row.h.
 *
 * An address is announced if and only if this node serves it now. Every Service that names the
 * address is checked, oldest first, in the order of enum address_reason: does a proxy serve the
 * address for this Service; are its ports still free here; may this node announce the address; has
 * a port a usable endpoint by its policy. Then the address as a whole: has NAT proved it; is it
 * held down. If this agent does NAT, no proxy serves a Service without a ClusterIP of the family:
 * its addresses, which could never be proved, are withheld for that reason. The row keeps the
 * result of each Service for `agentctl explain`.
 *
 * Called for each address that a change affects, and for all of them in a whole plan.
 */
#include "plan/routes/address_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "faults/addresses.h"
#include "plan/egress/gateway_address.h"
#include "plan/object_fault.h"
#include "plan/routes/claim.h"
#include "plan/routes/route_table.h"
#include "plan/routes/shared_ports.h"

static void port_taken_fault(struct faults *faults, const struct candidate *loser,
                             const struct service_port *port, const struct service *owner)
{
    char address[IP_STRLEN];
    AUTOFREE char *number = text_format("%u/%s", port->port, protocol_name(port->protocol));
    AUTOFREE char *name = text_format("%s/%s", owner->object.namespace, owner->object.name);
    faults->incomplete |= !number || !name;
    object_raise(faults, &loser->service->object, address_port_taken,
                 .address = ip_str(&loser->address->ip, address), .port = number, .owner = name);
}

/* The working state of one address. */
struct judging {
    const struct route_inputs *inputs;
    const struct real_address *real; /* NULL: no owner other than Services */
    candidate_list list;
    ports_elsewhere elsewhere; /* of candidates that count */
    char *lost_port;           /* the first of them, if the verdict is PORTS_ELSEWHERE */
    int64_t leaves_ms;         /* as in the row */
    uint64_t stand_in;
    bool may_announce; /* this node may announce it for one of the Services */
    struct faults *faults;
};

static void judging_done(struct judging *judging)
{
    vec_done(&judging->list);
    vec_done(&judging->elsewhere);
    free(judging->lost_port);
}

/* Counts a candidate's own ports and those with endpoints, and sets its reason. */
static int judge_ports(struct judging *judging, struct candidate *candidate)
{
    const struct route_inputs *inputs = judging->inputs;
    const size_t first_elsewhere = judging->elsewhere.count;
    const struct service *service = candidate->service;
    bool local_policy = candidate->address->origin == ADDRESS_CLUSTER ? service->internal_local
                                                                      : service->external_local;

    for (uint32_t i = 0; i < service->port_count; i++) {
        const struct service_port *port = &service->ports[i];
        const struct service *owner =
            claim_port_owner(&judging->list, candidate, port->protocol, port->port);
        if (owner) {
            port_taken_fault(judging->faults, candidate, port, owner);
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
        else if (usable.anywhere &&
                 vec_push(&judging->elsewhere, (struct port_elsewhere){ candidate, port }) < 0)
            return -ENOMEM;
    }
    candidate->reason = candidate->ports ? claim_announceable(inputs, candidate, judging->real)
                                         : REASON_PORTS_TAKEN;
    if (candidate->reason == REASON_ANNOUNCED && candidate->forwarding == 0)
        candidate->reason = judging->elsewhere.count > first_elsewhere ? REASON_NO_LOCAL_ENDPOINTS
                                                                       : REASON_NO_ENDPOINTS;
    if (!shared_ports_counts(candidate))
        judging->elsewhere.count = first_elsewhere;
    return 0;
}

static void in_service_cidr_fault(struct faults *faults, const struct candidate *candidate)
{
    char address[IP_STRLEN];
    object_raise(faults, &candidate->service->object, address_external_refused,
                 .address = ip_str(&candidate->address->ip, address));
}

static void real_address_fault(struct faults *faults, const struct candidate *candidate,
                               const struct real_address *real)
{
    /* All have the address and its owner as arguments. */
    static const struct fault_type *const types[REASON_COUNT] = {
        [REASON_NODE_ADDRESS] = &fault_type_address_of_node,
        [REASON_LOCAL_ADDRESS] = &fault_type_address_of_interface,
        [REASON_CONNECTED_NETWORK] = &fault_type_address_in_connected_network,
        [REASON_NODE_NETWORK] = &fault_type_address_in_node_network,
        [REASON_POD_NETWORK] = &fault_type_address_in_pod_network,
    };
    char address[IP_STRLEN];
    object_raise_type(
        faults, &candidate->service->object, types[real->reason],
        &(const struct fault_address_of_interface){
            .address = ip_str(&candidate->address->ip, address), .interface = real->of });
}

/* With NAT on, a ClusterIP that an interface also has, as a DNS cache may: both would answer. */
static void local_cluster_ip_fault(struct faults *faults, const struct candidate *candidate,
                                   const char *interface)
{
    char address[IP_STRLEN];
    object_raise(faults, &candidate->service->object, address_cluster_ip_local,
                 .address = ip_str(&candidate->address->ip, address), .interface = interface);
}

/* The object of a candidate's reason. */
static const char *about(const struct judging *judging, const struct candidate *candidate)
{
    const char *named = candidate->service->load_balancer_class;
    if (judging->real && candidate->reason == judging->real->reason)
        return judging->real->of;
    if (candidate->reason == REASON_PORTS_ELSEWHERE)
        return judging->lost_port;
    return candidate->reason == REASON_OTHER_CLASS && named ? named : "";
}

/* One allocation: the row, its claims, then their strings. */
static struct address_row *row_new(const struct ip *ip, const struct judging *judging)
{
    const candidate_list *list = &judging->list;
    size_t size = sizeof(struct address_row) + list->count * sizeof(struct claim);
    vec_each(const struct candidate, candidate, list) {
        const struct object *object = &candidate->service->object;
        size +=
            strlen(object->namespace) + strlen(object->name) + strlen(about(judging, candidate));
        size += 3;
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
        claim->of = strings;
        strings = stpcpy(strings, about(judging, candidate)) + 1;
        claim->origin = candidate->address->origin;
        claim->reason = candidate->reason;
        claim->ports = candidate->ports;
        claim->forwarding = candidate->forwarding;
        if (candidate->reason > row->reason || row->claim_count == 1) {
            row->reason = candidate->reason;
            row->of = claim->of;
        }
    }
    return row;
}

/* The protocol number of the oldest service that the address is announced for. */
static uint8_t announced_protocol(const struct route_inputs *inputs, const candidate_list *list)
{
    if (inputs->standing == STANDING_DRAINING)
        return ROUTE_PROTOCOL_DRAINING;
    vec_each(const struct candidate, candidate, list) {
        if (candidate->reason != REASON_ANNOUNCED)
            continue;
        int number = candidate->service->route_class;
        if (number < 0)
            return ROUTE_PROTOCOL_SERVICE;
        return (uint8_t)(ROUTE_PROTOCOL_CLASS_FIRST + number);
    }
    return 0;
}

/* A reason of the address as a whole replaces those of Services that would be announced. */
static void overrule(candidate_list *list, enum address_reason reason)
{
    vec_each(struct candidate, candidate, list) {
        if (candidate->reason == REASON_ANNOUNCED)
            candidate->reason = reason;
    }
}

/*
 * Sets the routes beside the announcement. A ClusterIP needs no route of its own if its network is
 * routed as a whole. An address of another load balancer, or with an owner other than Services,
 * gets no route: a route to svc0 would take all its ports.
 */
static void guard_row(const struct node_facts *facts, bool may_announce, bool is_real,
                      struct address_row *row)
{
    bool served = row->reason > REASON_OTHER_CLASS; /* for at least one of the Services */
    const struct service *owner = claim_cluster_ip_owner(facts, &row->address);
    row->foreign = facts->nat_svc0 && owner && svc0_route_covers(facts, &row->address) &&
                   claim_service(facts->config, owner) == REASON_OTHER_PROXY;
    if (!served || row->foreign || is_real)
        return;
    row->guarded = may_announce;
    if (row->guarded || !svc0_route_covers(facts, &row->address))
        row->svc0_route = svc0_route_of(facts, row->address.family);
}

/* Checks each candidate. */
static int judge(const struct ip *address, struct judging *judging)
{
    const struct node_facts *facts = judging->inputs->node;
    const struct real_address *real = judging->real;
    candidate_list *list = &judging->list;
    int r = facts->config->services.enabled ? claim_nat_candidates(facts, address, list)
                                            : claim_candidates(facts, address, list);
    if (r < 0)
        return r;
    vec_each(struct candidate, candidate, list) {
        if (candidate->reason == REASON_IN_SERVICE_CIDR)
            in_service_cidr_fault(judging->faults, candidate);
        if (candidate->reason == REASON_ANNOUNCED)
            r = judge_ports(judging, candidate);
        if (r < 0)
            return r;
        if (real && candidate->reason == real->reason &&
            candidate->address->origin != ADDRESS_CLUSTER)
            real_address_fault(judging->faults, candidate, real);
        if (real && real->reason == REASON_LOCAL_ADDRESS && facts->config->services.enabled &&
            candidate->address->origin == ADDRESS_CLUSTER && candidate->reason > REASON_OTHER_PROXY)
            local_cluster_ip_fault(judging->faults, candidate, real->of);
        judging->may_announce |= candidate->reason >= REASON_NO_ENDPOINTS;
    }
    return 0;
}

static bool has_reason(const candidate_list *list, enum address_reason reason)
{
    vec_each(const struct candidate, candidate, list) {
        if (candidate->reason == reason)
            return true;
    }
    return false;
}

/*
 * Whether an announced address stays announced for some time, until the stand-in node announces it.
 */
static bool leaves_later(struct judging *judging, const struct address_row *before)
{
    const int64_t now_ms = judging->inputs->now_ms;
    if (!before || before->reason != REASON_ANNOUNCED)
        return false;
    judging->leaves_ms = before->leaves_ms && before->stand_in == judging->stand_in
                             ? before->leaves_ms
                             : now_ms + SHARED_PORTS_GRACE_MS;
    if (now_ms < judging->leaves_ms)
        return true;
    judging->leaves_ms = 0;
    return false;
}

/* An address of which this node lacks a port is left to nodes that lack none. */
static int judge_elsewhere(struct judging *judging, const struct address_row *before)
{
    if (judging->elsewhere.count == 0 || !has_reason(&judging->list, REASON_ANNOUNCED))
        return 0;
    judging->stand_in = before ? before->stand_in : 0;
    int verdict = shared_ports_judge(judging->inputs->node, &judging->list, &judging->elsewhere,
                                     &judging->stand_in);
    if (verdict < 0)
        return verdict;
    if (verdict != PORTS_ELSEWHERE) {
        shared_ports_fault(&judging->elsewhere, judging->faults);
        return 0;
    }
    if (leaves_later(judging, before))
        return 0;
    judging->lost_port = shared_ports_name(&judging->elsewhere.items[0]);
    overrule(&judging->list, REASON_PORTS_ELSEWHERE);
    return judging->lost_port ? 0 : -ENOMEM;
}

/* What prevents an announcement although the Services could be announced. */
static const struct hold *judge_readiness(const struct ip *address, struct judging *judging)
{
    const struct hold *hold = route_inputs_held(judging->inputs, address);
    if (!route_inputs_proved(judging->inputs, address))
        overrule(&judging->list, REASON_NOT_PROVED);
    else if (hold)
        overrule(&judging->list, REASON_HELD_DOWN);
    return hold;
}

int plan_address(const struct route_inputs *inputs, const struct ip *address,
                 const struct address_row *before, struct address_row **ret_row,
                 struct faults *faults)
{
    struct real_address found;
    const bool is_real = real_address_of(inputs->node, address, &found) ||
                         real_network_of(inputs->node, address, &found);
    CLEANUP(judging_done)
    struct judging judging = {
        .inputs = inputs,
        .real = is_real ? &found : NULL,
        .faults = faults,
    };
    int r = judge(address, &judging);
    if (r < 0)
        return r;
    *ret_row = NULL;
    const bool is_gateway = gateway_has_address(inputs->node->config, address);
    if (judging.list.count == 0)
        return is_gateway ? plan_gateway_address(inputs, address, ret_row, faults) : 0;
    if (is_gateway)
        gateway_address_shared(address, &judging.list.items[0].service->object, faults);
    r = judge_elsewhere(&judging, before);
    if (r < 0)
        return r;
    const struct hold *hold = judge_readiness(address, &judging);

    struct address_row *row = row_new(address, &judging);
    if (!row)
        return -ENOMEM;
    row->protocol = row->reason == REASON_ANNOUNCED ? announced_protocol(inputs, &judging.list) : 0;
    row->held_until_ms = row->reason == REASON_HELD_DOWN ? hold->until_ms : 0;
    row->by_nodes = judging.elsewhere.count > 0;
    row->leaves_ms = row->reason == REASON_ANNOUNCED ? judging.leaves_ms : 0;
    row->stand_in = judging.stand_in;
    guard_row(inputs->node, judging.may_announce, is_real, row);
    *ret_row = row;
    return 0;
}

void address_row_free(struct address_row *row)
{
    free(row);
}

int address_row_cmp(const void *a, const void *b)
{
    const struct address_row *const *first = a, *const *second = b;
    return ip_cmp(&(*first)->address, &(*second)->address);
}
