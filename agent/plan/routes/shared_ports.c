// SPDX-License-Identifier: Apache-2.0
/*
 * See shared_ports.h. Called by address_row.c if this node lacks an endpoint that others have: only
 * then the nodes of endpoints are iterated.
 *
 * Other nodes are checked by their objects: one that is not Ready, or about to be deleted, may have
 * no agent that announces anything. Whether a node is drained, or has proved the address, is known
 * only to itself; SHARED_PORTS_GRACE_MS gives it time to announce the address.
 */
#include "plan/routes/shared_ports.h"

#include <errno.h>
#include <string.h>

#include "base/siphash.h"
#include "base/text.h"
#include "faults/nat.h"
#include "faults/raise.h"
#include "model/node.h"
#include "plan/claims/placement.h"
#include "plan/nat/endpoints.h"
#include "plan/object_fault.h"
#include "plan/pools/advertised.h"

typedef VEC(const char *) name_pointers;

static int name_cmp(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool shared_ports_counts(const struct candidate *candidate)
{
    return candidate->reason >= REASON_NO_ENDPOINTS || candidate->reason == REASON_OTHER_NODES;
}

static bool is_local(const struct candidate *candidate)
{
    return candidate->address->origin == ADDRESS_CLUSTER ? candidate->service->internal_local
                                                         : candidate->service->external_local;
}

/* ---- The nodes that may announce ---- */

static bool is_advertised_by(const struct node_facts *facts, const candidate_list *list,
                             const struct node *node)
{
    vec_each(const struct candidate, candidate, list) {
        if (!shared_ports_counts(candidate))
            continue;
        if (candidate->address->origin != ADDRESS_LOAD_BALANCER)
            return true;
        enum address_reason reason =
            advertised_at(facts->store, candidate->service, &candidate->address->ip, node);
        if (reason == REASON_ANNOUNCED || reason == REASON_L2_ONLY)
            return true;
    }
    return false;
}

static bool takes_part(const struct node_facts *facts, const struct node *node)
{
    return placement_of_node(node, facts->config->source.manifests != NULL) == PLACEMENT_MAY;
}

static bool may_announce(const struct node_facts *facts, const candidate_list *list,
                         const char *name)
{
    if (strcmp(name, facts->config->node) == 0)
        return true;
    const struct object *object = store_get(facts->store, KIND_NODE, "", name);
    const struct node *node = object ? to_node(object) : NULL;
    if (!node)
        return store_count(facts->store, KIND_NODE) == 0 && is_advertised_by(facts, list, NULL);
    return takes_part(facts, node) && is_advertised_by(facts, list, node);
}

/* ---- The nodes of a port ---- */

static int add_node(void *context, const struct backend *backend)
{
    const char *node = backend->endpoint->node_name;
    return endpoint_is_usable(backend->endpoint) && *node ? vec_push((name_pointers *)context, node)
                                                          : 0;
}

/* The nodes that can forward the port and may announce the address, sorted. */
static int nodes_of_port(const struct node_facts *facts, const candidate_list *list,
                         const struct candidate *candidate, const struct service_port *port,
                         name_pointers *nodes)
{
    int r = endpoints_each(facts, candidate->service, port, candidate->address->ip.family, add_node,
                           nodes);
    if (r < 0)
        return r;
    vec_sort(nodes, name_cmp);
    vec_drop_equal(nodes, name_cmp);
    size_t kept = 0;
    vec_each(const char *const, name, nodes) {
        if (may_announce(facts, list, *name))
            nodes->items[kept++] = *name;
    }
    nodes->count = kept;
    return 0;
}

/* The search state: the nodes that can forward every port so far. */
struct search {
    name_pointers nodes;
    bool begun;
};

static void search_done(struct search *search)
{
    vec_done(&search->nodes);
}

static int note_port(const struct node_facts *facts, const candidate_list *list,
                     const struct candidate *candidate, const struct service_port *port,
                     struct search *search)
{
    AUTOVEC name_pointers nodes = { 0 };
    if (claim_port_owner(list, candidate, port->protocol, port->port))
        return 0;
    int r = nodes_of_port(facts, list, candidate, port, &nodes);
    if (r < 0 || nodes.count == 0)
        return r;
    if (!search->begun) {
        vec_move(&search->nodes, &nodes);
        search->begun = true;
        return 0;
    }
    size_t kept = 0;
    vec_each(const char *const, name, &search->nodes) {
        if (vec_find(&nodes, name, name_cmp))
            search->nodes.items[kept++] = *name;
    }
    search->nodes.count = kept;
    return 0;
}

static uint64_t number_of(const char *node)
{
    static const uint8_t key[16] = "fingerpost/ports";
    return siphash(node, strlen(node), key);
}

/* Selects one of these nodes: the same as before, if it is still among them. */
static uint64_t choose_stand_in(const name_pointers *nodes, uint64_t before)
{
    vec_each(const char *const, name, nodes) {
        if (number_of(*name) == before)
            return before;
    }
    return number_of(nodes->items[0]);
}

int shared_ports_judge(const struct node_facts *facts, const candidate_list *list,
                       const ports_elsewhere *ports, uint64_t *stand_in)
{
    CLEANUP(search_done) struct search search = { 0 };
    const char *own = facts->config->node;
    if (ports->count == 0)
        return PORTS_HERE;
    vec_each(const struct candidate, candidate, list) {
        const struct service *service = candidate->service;
        if (!shared_ports_counts(candidate) || !is_local(candidate))
            continue;
        for (uint32_t i = 0; i < service->port_count; i++) {
            int r = note_port(facts, list, candidate, &service->ports[i], &search);
            if (r < 0)
                return r;
        }
    }
    if (!search.begun || vec_find(&search.nodes, &own, name_cmp))
        return PORTS_HERE;
    if (search.nodes.count == 0)
        return PORTS_SPLIT;
    *stand_in = choose_stand_in(&search.nodes, *stand_in);
    return PORTS_ELSEWHERE;
}

/* ---- Words ---- */

char *shared_ports_name(const struct port_elsewhere *port)
{
    const struct object *object = &port->candidate->service->object;
    return text_format("%u/%s of %s/%s", port->port->port, protocol_name(port->port->protocol),
                       object->namespace, object->name);
}

/* Adds one fault for each Service, with all its ports. */
static void tell_of(const ports_elsewhere *ports, const struct candidate *candidate,
                    struct faults *faults)
{
    const struct object *object = &candidate->service->object;
    char address[IP_STRLEN];
    AUTOTEXT struct text list = { 0 };
    unsigned count = 0;
    vec_each(const struct port_elsewhere, port, ports) {
        if (port->candidate == candidate)
            text_addf(&list, "%s%u/%s", count++ ? ", " : "", port->port->port,
                      protocol_name(port->port->protocol));
    }
    if (text_error(&list) < 0)
        return;
    object_raise(faults, object, nat_shared_ports_split,
                 .address = ip_str(&candidate->address->ip, address), .count = count,
                 .ports = text_str(&list));
}

void shared_ports_fault(const ports_elsewhere *ports, struct faults *faults)
{
    vec_each(const struct port_elsewhere, port, ports) {
        if (port == ports->items || port[-1].candidate != port->candidate)
            tell_of(ports, port->candidate, faults);
    }
}

/* ---- Changes ---- */

static bool same_labels(const struct node *a, const struct node *b)
{
    if (a->label_count != b->label_count)
        return false;
    for (uint32_t i = 0; i < a->label_count; i++) {
        if (label_cmp(&a->labels[i], &b->labels[i]) != 0 ||
            strcmp(a->labels[i].value, b->labels[i].value) != 0)
            return false;
    }
    return true;
}

bool shared_ports_affected(const struct node_facts *facts, const struct change *change)
{
    const struct object *any = change->after ? change->after : change->before;
    if (any->kind != KIND_NODE || strcmp(any->name, facts->config->node) == 0)
        return false;
    if (!change->before || !change->after)
        return true;
    const struct node *before = to_node(change->before), *after = to_node(change->after);
    return takes_part(facts, before) != takes_part(facts, after) || !same_labels(before, after);
}
