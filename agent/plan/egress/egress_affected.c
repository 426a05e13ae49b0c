// SPDX-License-Identifier: Apache-2.0
/*
 * Which units a change of an object affects; see egress_affected.h. nat_affected.c is the same for
 * NAT.
 *
 * A pod affects its own addresses and the faults of the Egresses that it names, but no sets. An
 * Egress affects the addresses of the pods that name it: their policies may have other contents, or
 * other keys. A slice or Service affects the Egress of the same name. A Node affects the Egresses
 * that select Nodes, of which there are few, and only if relevant fields change. The excluded
 * networks are one unit: a comparison finds what changes in them.
 */
#include "plan/egress/egress_affected.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "model/address_block.h"
#include "model/node.h"
#include "model/services/endpoint_slice.h"
#include "plan/routes/claim.h"

static int push_pod(const struct pod *pod, struct egress_touched *touched)
{
    if (!pod || !pod_owns_addresses(pod))
        return 0;
    for (uint32_t i = 0; i < pod->ip_count; i++) {
        if (vec_push(&touched->addresses, pod->ips[i]) < 0)
            return -ENOMEM;
    }
    for (uint32_t i = 0; i < pod->egress_count; i++) {
        if (vec_push(&touched->named, pod->egresses[i]) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int push_egress(const struct node_facts *facts, const struct object *object,
                       struct egress_touched *touched)
{
    const struct egress_ref ref = { object->namespace, object->name };
    size_t count;
    const struct pod *const *pods = store_pods_of(facts->store, ref.namespace, ref.name, &count);
    touched->served |= facts->config->egress.gateway.enabled;
    if (vec_push(&touched->egresses, ref) < 0 || vec_push(&touched->named, ref) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < pods[i]->ip_count; j++) {
            if (vec_push(&touched->addresses, pods[i]->ips[j]) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/* The Egress whose pods are a Service's endpoints, if there is one. */
static int push_service_name(const struct node_facts *facts, const char *namespace,
                             const char *name, struct egress_touched *touched)
{
    const struct object *egress = store_get(facts->store, KIND_EGRESS, namespace, name);
    if (!egress)
        return 0;
    return vec_push(&touched->egresses, (struct egress_ref){ egress->namespace, egress->name });
}

static bool service_excluded(const struct node_facts *facts, const struct object *service)
{
    return service && (facts->config->egress.gateway.enabled || !facts->config->services.enabled ||
                       claim_service(facts->config, to_service(service)) == REASON_OTHER_PROXY);
}

static int push_slice(const struct node_facts *facts, const struct object *slice,
                      struct egress_touched *touched)
{
    return slice ? push_service_name(facts, slice->namespace, to_endpoint_slice(slice)->service,
                                     touched)
                 : 0;
}

static bool same_addresses(const struct node *before, const struct node *after)
{
    if (before->address_count != after->address_count)
        return false;
    for (uint32_t i = 0; i < before->address_count; i++) {
        if (!ip_equal(&before->addresses[i], &after->addresses[i]))
            return false;
    }
    return true;
}

static bool same_labels(const struct node *before, const struct node *after)
{
    if (before->label_count != after->label_count)
        return false;
    for (uint32_t i = 0; i < before->label_count; i++) {
        if (strcmp(before->labels[i].name, after->labels[i].name) != 0 ||
            strcmp(before->labels[i].value, after->labels[i].value) != 0)
            return false;
    }
    return true;
}

/* Whether the change is irrelevant to Egresses that select Nodes. */
static bool looks_the_same(const struct node *before, const struct node *after)
{
    return same_labels(before, after) && ip_equal(&before->primary_v4, &after->primary_v4) &&
           ip_equal(&before->primary_v6, &after->primary_v6) &&
           before->to_be_deleted == after->to_be_deleted &&
           before->object.deleting == after->object.deleting;
}

static int push_selecting(const struct node_facts *facts, struct egress_touched *touched)
{
    AUTOVEC object_list egresses = { 0 };
    int r = store_list(facts->store, KIND_EGRESS, &egresses);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &egresses) {
        if (to_egress(*object)->gateway_nodes &&
            vec_push(&touched->egresses,
                     (struct egress_ref){ (*object)->namespace, (*object)->name }) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int push_node(const struct node_facts *facts, const struct change *change,
                     struct egress_touched *touched)
{
    static const struct node absent = { 0 };
    const struct object *any = change->after ? change->after : change->before;
    const struct node *before = change->before ? to_node(change->before) : &absent;
    const struct node *after = change->after ? to_node(change->after) : &absent;
    bool is_this = strcmp(any->name, facts->config->node) == 0;
    touched->excluded |=
        !same_addresses(before, after) || !prefixes_equal(before->pod_nets, before->pod_net_count,
                                                          after->pod_nets, after->pod_net_count);
    touched->served |= facts->config->egress.gateway.enabled && is_this &&
                       (!change->before || !change->after || !same_labels(before, after));
    if (change->before && change->after && looks_the_same(before, after))
        return 0;
    return push_selecting(facts, touched);
}

int plan_egress_affected(const struct node_facts *facts, const struct change *change,
                         struct egress_touched *touched)
{
    const struct object *before = change->before, *after = change->after;
    const struct object *any = after ? after : before;
    int r;

    switch (any->kind) {
    case KIND_POD:
        r = push_pod(before ? to_pod(before) : NULL, touched);
        return r < 0 ? r : push_pod(after ? to_pod(after) : NULL, touched);
    case KIND_EGRESS:
        touched->excluded = true; /* an Egress requires that pod networks are known */
        return push_egress(facts, any, touched);
    case KIND_SERVICE:
        touched->excluded |= service_excluded(facts, before) || service_excluded(facts, after);
        return push_service_name(facts, any->namespace, any->name, touched);
    case KIND_ENDPOINT_SLICE:
        r = push_slice(facts, before, touched);
        return r < 0 ? r : push_slice(facts, after, touched);
    case KIND_NODE:
        return push_node(facts, change, touched);
    case KIND_ADDRESS_BLOCK:
    case KIND_ADDRESS_POOL:
        touched->excluded |= !facts->config->services.cluster_cidrs_set;
        return 0;
    default: /* other kinds do not matter */
        return 0;
    }
}

void egress_touched_clear(struct egress_touched *touched)
{
    vec_clear(&touched->addresses);
    vec_clear(&touched->egresses);
    vec_clear(&touched->named);
    touched->excluded = touched->served = false;
}

void egress_touched_done(struct egress_touched *touched)
{
    vec_done(&touched->addresses);
    vec_done(&touched->egresses);
    vec_done(&touched->named);
}
