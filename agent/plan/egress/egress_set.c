// SPDX-License-Identifier: Apache-2.0
/*
 * Determines the gateways of an Egress.
 *
 * They are Nodes, if the annotation fingerpost.io/gateway-nodes selects any, each at its own
 * address; else the endpoints of the Service of the same name, which coil-controller creates. They
 * are not combined: with a selector the gateways are Nodes, and pods of the same name are
 * leftovers.
 *
 * An endpoint that terminates still serves, and keeps the flows that it has. One that is not ready
 * may be starting, or be broken: it has no flows. A Node that is being removed is treated like a
 * terminating endpoint.
 *
 * Without a gateway the set stays: packets that match are dropped, never sent by another path.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "model/fields/label_selector.h"
#include "model/node.h"
#include "plan/egress/egress.h"
#include "plan/egress/egress_names.h"
#include "plan/nat/endpoints.h"

static int add_gateway(struct egress_set *set, const struct ip *address,
                       enum egress_gateway_state state, const char *node)
{
    struct egress_gateway gateway = { .address = *address, .state = state, .node = strdup(node) };
    if (gateway.node && vec_push(&set->gateways, gateway) == 0)
        return 0;
    free(gateway.node);
    return -ENOMEM;
}

static int add_node(struct egress_set *set, const struct node *node)
{
    const struct ip *address = set->family == IP_V4 ? &node->primary_v4 : &node->primary_v6;
    bool is_leaving = node->to_be_deleted || node->object.deleting;
    if (address->family == IP_NONE)
        return 0;
    return add_gateway(set, address, is_leaving ? EGRESS_DRAINING : EGRESS_ACTIVE,
                       node->object.name);
}

static int add_nodes(const struct node_facts *facts, const struct label_selector *selector,
                     struct egress_set *set)
{
    AUTOVEC object_list nodes = { 0 };
    int r = store_list(facts->store, KIND_NODE, &nodes);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &nodes) {
        const struct node *node = to_node(*object);
        if (!label_selector_matches(selector, node->labels, node->label_count))
            continue;
        r = add_node(set, node);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_endpoint(void *context, const struct backend *backend)
{
    const struct endpoint *endpoint = backend->endpoint;
    if (endpoint->ready && !endpoint->terminating)
        return add_gateway(context, &endpoint->ip, EGRESS_ACTIVE, endpoint->node_name);
    if (endpoint->serving && endpoint->terminating)
        return add_gateway(context, &endpoint->ip, EGRESS_DRAINING, endpoint->node_name);
    return 0;
}

/*
 * For each address the best state counts, which is the first: slices may have copies of an
 * endpoint.
 */
static void unite(struct egress_set *set)
{
    size_t count = 0;
    vec_each(struct egress_gateway, gateway, &set->gateways) {
        struct egress_gateway *kept = set->gateways.items;
        if (count && ip_equal(&kept[count - 1].address, &gateway->address))
            free(gateway->node);
        else
            kept[count++] = *gateway;
    }
    set->gateways.count = count;
}

static void limit(struct egress_set *set)
{
    while (set->gateways.count > EGRESS_GATEWAYS_MAX)
        free(set->gateways.items[--set->gateways.count].node);
}

static bool has_active(const struct egress_set *set)
{
    vec_each(const struct egress_gateway, gateway, &set->gateways) {
        if (gateway->state == EGRESS_ACTIVE)
            return true;
    }
    return false;
}

/* The source of an Egress's gateways. */
struct gateway_source {
    struct label_selector *selector; /* NULL: from the Service */
    const struct service *service;   /* NULL: there is none */
};

static void gateway_source_done(struct gateway_source *source)
{
    label_selector_free(source->selector);
}

static const char *family_of(const struct egress_set *set)
{
    return set->family == IP_V4 ? "4" : "6";
}

static void lack_fault(const struct gateway_source *source, const struct egress_set *set,
                       const char *place, struct faults *faults)
{
    const char *family = family_of(set);
    if (source->selector)
        fault_raise(faults, place, egress_no_node_selected, .family = family);
    else if (!source->service)
        fault_raise(faults, place, egress_no_service, .family = family, .service = set->egress);
    else
        fault_raise(faults, place, egress_no_endpoint, .family = family, .service = set->egress);
}

static void set_faults(const struct gateway_source *source, struct egress_set *set,
                       struct faults *faults)
{
    AUTOFREE char *place = text_format("Egress %s", set->egress);
    if (set->gateways.count > EGRESS_GATEWAYS_MAX)
        fault_raise(faults, place, egress_gateways_excess, .family = family_of(set),
                    .count = (int64_t)set->gateways.count, .most = EGRESS_GATEWAYS_MAX);
    if (!has_active(set))
        lack_fault(source, set, place, faults);
}

/* Adds faults for Nodes with the same address. */
static void shared_faults(const struct egress_set *set, struct faults *faults)
{
    AUTOFREE char *place = text_format("Egress %s", set->egress);
    char text[IP_STRLEN];
    for (size_t i = 1; i < set->gateways.count; i++) {
        const struct egress_gateway *one = &set->gateways.items[i - 1], *two = one + 1;
        if (ip_equal(&one->address, &two->address) && strcmp(one->node, two->node) != 0)
            fault_raise(faults, place, egress_gateways_one_address, .one = one->node,
                        .other = two->node, .address = ip_str(&one->address, text));
    }
}

static int plan_set(const struct node_facts *facts, const struct egress *egress, uint8_t family,
                    const struct gateway_source *source, struct egress_set **ret_set,
                    struct faults *faults)
{
    const struct object *object = &egress->object;
    CLEANUP(egress_set_freep) struct egress_set *set = calloc(1, sizeof(*set));
    if (!set)
        return -ENOMEM;
    set->egress = text_format("%s/%s", object->namespace, object->name);
    set->family = family;
    set->by_client = egress->by_client;
    set->source_port_auto = egress->source_port_auto;
    if (!set->egress)
        return -ENOMEM;
    int r = 0;
    if (source->selector)
        r = add_nodes(facts, source->selector, set);
    else if (source->service)
        r = endpoints_each_of_any(facts, source->service, family, add_endpoint, set);
    if (r < 0)
        return r;
    vec_sort(&set->gateways, egress_gateway_cmp);
    if (source->selector)
        shared_faults(set, faults);
    unite(set);
    *ret_set = TAKE_PTR(set);
    return 0;
}

/* Returns 0; or 1 with a fault if it can't be determined; or -ENOMEM. */
static int find_source(const struct node_facts *facts, const struct egress *egress,
                       struct gateway_source *source, struct faults *faults)
{
    const struct object *object = &egress->object;
    if (egress->gateway_nodes)
        return egress_selector(egress, &source->selector, faults);
    const struct object *service =
        store_get(facts->store, KIND_SERVICE, object->namespace, object->name);
    source->service = service ? to_service(service) : NULL;
    return 0;
}

int plan_egress_sets(const struct node_facts *facts, const struct egress *egress,
                     struct egress_set *ret_sets[static 2], struct faults *faults)
{
    static const uint8_t families[] = { IP_V4, IP_V6 };
    CLEANUP(gateway_source_done) struct gateway_source source = { 0 };
    CLEANUP(egress_set_freep) struct egress_set *v4 = NULL;
    CLEANUP(egress_set_freep) struct egress_set *v6 = NULL;
    struct egress_set **sets[] = { &v4, &v6 };
    int bad = find_source(facts, egress, &source, faults);
    if (bad < 0)
        return bad;
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        if (!egress_has_family(egress, families[i]))
            continue;
        int r = plan_set(facts, egress, families[i], &source, sets[i], faults);
        if (r < 0)
            return r;
        if (!bad)
            set_faults(&source, *sets[i], faults);
        limit(*sets[i]);
    }
    ret_sets[0] = TAKE_PTR(v4);
    ret_sets[1] = TAKE_PTR(v6);
    return 0;
}
