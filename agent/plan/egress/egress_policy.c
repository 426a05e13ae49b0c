// SPDX-License-Identifier: Apache-2.0
/*
 * Derives a pod's policy from its annotations: which destinations leave by which Egress.
 *
 * A pod that names a missing Egress waits: its packets must not leave by another path than the
 * intended one, so all packets outside the excluded networks are dropped. The policy's entries do
 * not show this: they are those of the existing Egresses, needed for destinations with longer
 * prefixes than an excluded network.
 *
 * A family in which none of the Egresses has a destination is not affected: the pod's packets of
 * that family leave like those of a pod without annotations.
 *
 * While an address moves from one pod to another, both may have it for a short time. The younger
 * one is taken as the sender.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "plan/egress/egress.h"
#include "plan/egress/egress_names.h"

/* The Egresses that a pod requests in a family. `*ret_asks` is false if there are none. */
static int policy_key(const struct node_facts *facts, const struct pod *pod, uint8_t family,
                      struct egress_policy_key *ret_key, bool *ret_asks)
{
    AUTOTEXT struct text egresses = { 0 };
    bool waiting = pod->bad_egress;
    for (uint32_t i = 0; i < pod->egress_count; i++) {
        const struct egress_ref *ref = &pod->egresses[i];
        const struct egress *egress = egress_of(facts, ref);
        waiting |= !egress;
        if (egress && egress_has_family(egress, family))
            egress_list_add(&egresses, ref->namespace, ref->name);
    }
    *ret_asks = waiting || egresses.length > 0;
    text_add(&egresses, "");
    *ret_key = (struct egress_policy_key){ family, waiting, text_take(&egresses) };
    return ret_key->egresses ? 0 : -ENOMEM;
}

struct owners {
    const struct pod *pod, *older; /* of this node; NULL: none */
};

static struct owners owners_of(const struct node_facts *facts, const struct ip *address)
{
    struct owners owners = { 0 };
    size_t count;
    const struct pod *const *pods = store_pods_at(facts->store, address, &count);
    for (size_t i = 0; i < count; i++) {
        if (egress_is_local(facts, pods[i]))
            owners = (struct owners){ .pod = pods[i], .older = owners.pod };
    }
    return owners;
}

static bool is_asking(const struct pod *pod)
{
    return pod->egress_count > 0 || pod->bad_egress;
}

static void shared_fault(const struct ip *address, const struct owners *owners,
                         struct faults *faults)
{
    const struct object *pod = &owners->pod->object, *before = &owners->older->object;
    AUTOFREE char *older = text_format("%s/%s", before->namespace, before->name);
    AUTOFREE char *younger = text_format("%s/%s", pod->namespace, pod->name);
    char place[IP_STRLEN];
    fault_raise(faults, ip_str(address, place), egress_pod_address_shared, .older = older,
                .younger = younger);
}

int plan_egress_pod(const struct node_facts *facts, const struct ip *address,
                    struct egress_pod **ret_pod, struct faults *faults)
{
    const struct owners owners = owners_of(facts, address);
    *ret_pod = NULL;
    if (!owners.pod)
        return 0;
    if (owners.older && (is_asking(owners.pod) || is_asking(owners.older)))
        shared_fault(address, &owners, faults);

    CLEANUP(egress_pod_freep) struct egress_pod *row = calloc(1, sizeof(*row));
    if (!row)
        return -ENOMEM;
    row->address = *address;
    row->namespace = strdup(owners.pod->object.namespace);
    row->name = strdup(owners.pod->object.name);
    if (!row->namespace || !row->name)
        return -ENOMEM;
    int r = policy_key(facts, owners.pod, address->family, &row->policy, &row->is_client);
    if (r < 0)
        return r;
    if (row->is_client || facts->config->egress.unknown_pods == UNKNOWN_PODS_HOLD)
        *ret_pod = TAKE_PTR(row);
    return 0;
}

/* A destination and its Egress. */
struct demand {
    struct prefix destination;
    const struct egress *egress;
};

typedef VEC(struct demand) demand_list;

/* Of Egresses with the same destination the one that gets it is first. */
static int demand_cmp(const void *a, const void *b)
{
    const struct demand *left = a, *right = b;
    int r = prefix_cmp(&left->destination, &right->destination);
    return r ? r : object_precedence_cmp(&left->egress->object, &right->egress->object);
}

static int add_demands(const struct egress *egress, uint8_t family, demand_list *demands)
{
    for (uint32_t i = 0; i < egress->destination_count; i++) {
        if (egress->destinations[i].ip.family == family &&
            vec_push(demands, (struct demand){ egress->destinations[i], egress }) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int find_demands(const struct node_facts *facts, const struct egress_policy_key *key,
                        demand_list *demands)
{
    const char *list = key->egresses;
    struct egress_item item;
    while (egress_list_next(&list, &item)) {
        const struct egress_ref ref = { item.namespace, item.name };
        const struct egress *egress = egress_of(facts, &ref);
        if (egress && add_demands(egress, key->family, demands) < 0)
            return -ENOMEM;
    }
    vec_sort(demands, demand_cmp);
    return 0;
}

static void demand_fault(const struct demand *demand, const struct demand *first,
                         struct faults *faults)
{
    const struct object *object = &demand->egress->object, *before = &first->egress->object;
    AUTOFREE char *place = text_format("Egress %s/%s", object->namespace, object->name);
    AUTOFREE char *older = text_format("%s/%s", before->namespace, before->name);
    char destination[PREFIX_STRLEN];
    prefix_str(&demand->destination, destination);
    if (demand->destination.length)
        fault_raise(faults, place, egress_destination_shared, .destination = destination,
                    .older = older);
    else
        fault_raise(faults, place, egress_default_route_shared, .destination = destination,
                    .older = older);
}

static int add_entry(struct egress_policy *policy, const struct demand *demand)
{
    const struct object *object = &demand->egress->object;
    struct egress_entry entry = {
        .destination = demand->destination,
        .egress = text_format("%s/%s", object->namespace, object->name),
    };
    if (entry.egress && vec_push(&policy->entries, entry) == 0)
        return 0;
    free(entry.egress);
    return -ENOMEM;
}

int plan_egress_policy(const struct node_facts *facts, const struct egress_policy_key *key,
                       struct egress_policy **ret_policy, struct faults *faults)
{
    AUTOVEC demand_list demands = { 0 };
    const struct demand *first = NULL;
    CLEANUP(egress_policy_freep) struct egress_policy *policy = calloc(1, sizeof(*policy));
    if (!policy)
        return -ENOMEM;
    policy->key = (struct egress_policy_key){ key->family, key->waiting, strdup(key->egresses) };
    if (!policy->key.egresses)
        return -ENOMEM;
    int r = find_demands(facts, key, &demands);
    if (r < 0)
        return r;
    vec_each(const struct demand, demand, &demands) {
        bool is_taken = first && prefix_cmp(&first->destination, &demand->destination) == 0;
        if (is_taken && first->egress != demand->egress)
            demand_fault(demand, first, faults);
        if (is_taken)
            continue;
        first = demand;
        r = add_entry(policy, demand);
        if (r < 0)
            return r;
    }
    *ret_policy = TAKE_PTR(policy);
    return 0;
}
