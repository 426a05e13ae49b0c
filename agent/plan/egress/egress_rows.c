// SPDX-License-Identifier: Apache-2.0
/*
 * The rows of some addresses; see egress_rows.h.
 *
 * In a running cluster nearly every change is a pod that is added or deleted, with an annotation
 * that others already have: only its rows change. Other consequences (a policy that no other pod
 * has, a fault) concern the whole plan, and are left to plan_egress().
 */
#include "plan/egress/egress_rows.h"

#include <errno.h>

/* The policy of a row, or NULL: its pod is no client, or the plan has no such policy. */
static struct egress_policy *policy_of(const struct egress_plan *plan, const struct egress_pod *pod)
{
    const struct egress_policy wanted = { .key = pod->policy }, *pointer = &wanted;
    struct egress_policy **found = pod->is_client ? sorted_find(&plan->policies, &pointer) : NULL;
    return found ? *found : NULL;
}

/* Removes the row of an address from the plan. Returns 1, or 0: no other row has its policy. */
static int remove_pod(struct egress_plan *plan, const struct ip *address)
{
    const struct egress_pod wanted = { .address = *address }, *pointer = &wanted;
    struct egress_pod **found = sorted_find(&plan->pods, &pointer);
    CLEANUP(egress_pod_freep) struct egress_pod *pod = found ? *found : NULL;
    struct egress_policy *policy = pod ? policy_of(plan, pod) : NULL;
    if (pod)
        sorted_remove(&plan->pods, &pointer);
    return !policy || --policy->pods > 0;
}

static int put_pod(struct egress_plan *plan, struct egress_pod **pod)
{
    struct egress_policy *policy = policy_of(plan, *pod);
    if ((*pod)->is_client && !policy)
        return 0;
    int r = sorted_put(&plan->pods, pod);
    if (r < 0)
        return r;
    *pod = NULL; /* the plan's */
    if (policy)
        policy->pods++;
    return 1;
}

/*
 * The new row is added before the old one is removed: a policy of both keeps its pod count above 0.
 */
static int replace_pod(const struct node_facts *facts, const struct ip *address,
                       struct egress_plan *plan)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(egress_pod_freep) struct egress_pod *pod = NULL;
    int r = plan_egress_pod(facts, address, &pod, &faults);
    if (r < 0)
        return r;
    if (!faults_none(&faults))
        return 0;
    struct egress_policy *policy = pod ? policy_of(plan, pod) : NULL;
    if (policy)
        policy->pods++;
    r = remove_pod(plan, address);
    if (policy)
        policy->pods--;
    return r > 0 && pod ? put_pod(plan, &pod) : r;
}

static int replace_client(const struct node_facts *facts, const egress_ref_list *served,
                          const struct ip *address, struct egress_plan *plan)
{
    const struct egress_client wanted = { .address = *address }, *pointer = &wanted;
    CLEANUP(egress_client_freep) struct egress_client *client = NULL;
    int r = plan_egress_client(facts, served, address, &client);
    if (r < 0)
        return r;
    struct egress_client **found = sorted_find(&plan->clients, &pointer);
    if (found) {
        struct egress_client *old = *found;
        sorted_remove(&plan->clients, &pointer);
        egress_client_free(old);
    }
    if (client && !egress_plan_gateway_policy(plan, client))
        return 0;
    r = client ? sorted_put(&plan->clients, &client) : 0;
    if (r < 0)
        return r;
    client = NULL; /* the plan's */
    return 1;
}

static int replace_pods(const struct node_facts *facts, const struct egress_touched *touched,
                        struct egress_plan *plan)
{
    AUTOFAULTS struct faults faults = { 0 };
    vec_each(const struct egress_ref, ref, &touched->named) {
        int r = plan_egress_named(facts, ref, &faults);
        if (r < 0)
            return r;
    }
    int r = faults_none(&faults);
    for (size_t i = 0; r > 0 && i < touched->addresses.count; i++)
        r = replace_pod(facts, &touched->addresses.items[i], plan);
    return r;
}

static int replace_clients(const struct node_facts *facts, const struct egress_touched *touched,
                           struct egress_plan *plan)
{
    AUTOFAULTS struct faults told = { 0 }; /* reported with the whole plan */
    AUTOVEC egress_ref_list served = { 0 };
    int r = plan_egress_served(facts, &served, &told);
    if (r < 0)
        return r;
    r = 1;
    for (size_t i = 0; r > 0 && i < touched->addresses.count; i++)
        r = replace_client(facts, &served, &touched->addresses.items[i], plan);
    return r;
}

int plan_egress_rows(const struct node_facts *facts, const struct egress_touched *touched,
                     struct egress_plan *plan)
{
    if (plan->pods_told || touched->egresses.count || touched->excluded || touched->served)
        return 0;
    int r = facts->config->egress.enabled ? replace_pods(facts, touched, plan) : 1;
    if (r > 0 && facts->config->egress.gateway.enabled)
        r = replace_clients(facts, touched, plan);
    return r;
}
