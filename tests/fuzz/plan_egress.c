// SPDX-License-Identifier: Apache-2.0
/* What must hold of every plan of egress, whatever the objects were; see plan_egress.h. */
#include "plan_egress.h"

#include <string.h>

#include "fuzz.h"

static void check_order(const struct sorted *table)
{
    for (size_t i = 1; i < table->count; i++)
        MUST(table->compare(sorted_at(table, i - 1), sorted_at(table, i)) < 0);
}

static void check_set(const struct egress_set *set)
{
    MUST(set->gateways.count <= EGRESS_GATEWAYS_MAX);
    for (size_t i = 0; i < set->gateways.count; i++) {
        const struct egress_gateway *gateway = &set->gateways.items[i];
        MUST(gateway->address.family == set->family && gateway->state < EGRESS_GATEWAY_STATES);
        MUST(i == 0 || ip_cmp(&(gateway - 1)->address, &gateway->address) < 0);
    }
}

/* Each destination leads to an Egress that has a set. */
static void check_policy(const struct egress_plan *plan, const struct egress_policy *policy)
{
    MUST(policy->key.waiting || policy->entries.count > 0);
    for (size_t i = 0; i < policy->entries.count; i++) {
        struct egress_entry *entry = &policy->entries.items[i];
        const struct egress_set wanted = { .egress = entry->egress, .family = policy->key.family };
        const struct egress_set *pointer = &wanted;
        MUST(entry->destination.ip.family == policy->key.family);
        MUST(i == 0 || prefix_cmp(&(entry - 1)->destination, &entry->destination) < 0);
        MUST(sorted_find(&plan->sets, &pointer));
    }
}

static void check_pod(const struct egress_plan *plan, const struct egress_pod *pod)
{
    const struct egress_policy wanted = { .key = pod->policy }, *pointer = &wanted;
    MUST(!pod->is_client || pod->policy.family == pod->address.family);
    MUST(!pod->is_client || sorted_find(&plan->policies, &pointer));
}

void egress_plan_check(const struct egress_plan *plan)
{
    check_order(&plan->sets);
    check_order(&plan->policies);
    check_order(&plan->pods);
    check_order(&plan->clients);
    sorted_each(struct egress_set *const, set, &plan->sets)
        check_set(*set);
    sorted_each(struct egress_policy *const, policy, &plan->policies)
        check_policy(plan, *policy);
    sorted_each(struct egress_pod *const, pod, &plan->pods)
        check_pod(plan, *pod);
    sorted_each(struct egress_client *const, client, &plan->clients)
        MUST(plan->served && (*client)->egresses[0]);
    for (size_t i = 1; i < plan->excluded.count; i++)
        MUST(prefix_cmp(&plan->excluded.items[i - 1], &plan->excluded.items[i]) < 0);
}

#define COMPARE(left, right, type, equal)                                                          \
    do {                                                                                           \
        MUST((left)->count == (right)->count);                                                     \
        for (size_t i = 0; i < (left)->count; i++)                                                 \
            MUST(                                                                                  \
                equal(*(struct type **)sorted_at(left, i), *(struct type **)sorted_at(right, i))); \
    } while (0)

void egress_plan_compare(const struct egress_plan *left, const struct egress_plan *right)
{
    COMPARE(&left->sets, &right->sets, egress_set, egress_set_equal);
    COMPARE(&left->policies, &right->policies, egress_policy, egress_policy_equal);
    COMPARE(&left->pods, &right->pods, egress_pod, egress_pod_equal);
    COMPARE(&left->clients, &right->clients, egress_client, egress_client_equal);
    MUST(prefixes_equal(left->excluded.items, left->excluded.count, right->excluded.items,
                        right->excluded.count));
    MUST(strcmp(left->served, right->served) == 0);
}
