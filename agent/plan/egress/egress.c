// SPDX-License-Identifier: Apache-2.0
/*
 * The whole egress plan, composed of its units; see egress.h.
 *
 * Called by plan_node() for `agentctl plan` and tests. A fault found in several units (two Egresses
 * with one destination, in two policies) is reported once.
 */
#include "plan/egress/egress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/egress/egress_names.h"

static bool is_told(const struct faults *faults, size_t from, const struct fault *fault)
{
    for (size_t i = from; i < faults->list.count; i++) {
        const struct fault *told = &faults->list.items[i];
        if (told->type && told->type == fault->type && strcmp(told->place, fault->place) == 0 &&
            strcmp(told->key, fault->key) == 0)
            return true;
    }
    return false;
}

/* Adds a policy's faults that no other policy had. */
static void tell_once(struct faults *faults, size_t from, struct faults *more)
{
    vec_each(const struct fault, fault, &more->list) {
        if (!is_told(faults, from, fault))
            faults_add_copy(faults, fault->place, fault);
    }
    faults->incomplete |= more->incomplete;
}

static int put_set(struct egress_plan *plan, struct egress_set **set)
{
    int r = *set ? sorted_put(&plan->sets, set) : 0;
    if (r < 0)
        return r;
    *set = NULL;
    return 0;
}

static int add_sets(const struct node_facts *facts, struct egress_plan *plan, struct faults *faults)
{
    AUTOVEC object_list egresses = { 0 };
    int r = store_list(facts->store, KIND_EGRESS, &egresses);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &egresses) {
        struct egress_set *sets[2] = { 0 };
        r = plan_egress_sets(facts, to_egress(*object), sets, faults);
        CLEANUP(egress_set_freep) struct egress_set *first = sets[0], *second = sets[1];
        if (r < 0)
            return r;
        r = put_set(plan, &first);
        if (r < 0)
            return r;
        r = put_set(plan, &second);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Finds the addresses of this node's pods, and the Egresses that they name. */
static int find_local(const struct node_facts *facts, ip_list *addresses, egress_ref_list *named)
{
    AUTOVEC object_list pods = { 0 };
    int r = store_list(facts->store, KIND_POD, &pods);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &pods) {
        const struct pod *pod = to_pod(*object);
        if (!egress_is_local(facts, pod) || !pod_owns_addresses(pod))
            continue;
        for (uint32_t i = 0; i < pod->ip_count && r == 0; i++)
            r = vec_push(addresses, pod->ips[i]);
        for (uint32_t i = 0; i < pod->egress_count && r == 0; i++)
            r = vec_push(named, pod->egresses[i]);
        if (r < 0)
            return r;
    }
    ip_list_unite(addresses);
    vec_sort(named, egress_ref_cmp);
    vec_drop_equal(named, egress_ref_cmp);
    return 0;
}

static struct egress_policy *policy_of(const struct egress_plan *plan,
                                       const struct egress_policy_key *key)
{
    const struct egress_policy wanted = { .key = *key }, *pointer = &wanted;
    struct egress_policy **found = sorted_find(&plan->policies, &pointer);
    return found ? *found : NULL;
}

static int add_policy(const struct node_facts *facts, const struct egress_policy_key *key,
                      struct egress_plan *plan, struct faults *faults)
{
    AUTOFAULTS struct faults found = { 0 };
    CLEANUP(egress_policy_freep) struct egress_policy *policy = NULL;
    if (policy_of(plan, key))
        return 0;
    int r = plan_egress_policy(facts, key, &policy, &found);
    if (r < 0)
        return r;
    tell_once(faults, 0, &found);
    r = sorted_put(&plan->policies, &policy);
    if (r < 0)
        return r;
    policy = NULL;
    return 0;
}

static int add_pod(const struct node_facts *facts, const struct ip *address,
                   struct egress_plan *plan, struct faults *faults)
{
    CLEANUP(egress_pod_freep) struct egress_pod *pod = NULL;
    int r = plan_egress_pod(facts, address, &pod, faults);
    if (r < 0 || !pod)
        return r;
    r = pod->is_client ? add_policy(facts, &pod->policy, plan, faults) : 0;
    if (r < 0)
        return r;
    struct egress_policy *policy = pod->is_client ? policy_of(plan, &pod->policy) : NULL;
    r = sorted_put(&plan->pods, &pod);
    if (r < 0)
        return r;
    pod = NULL; /* the plan's */
    if (policy)
        policy->pods++;
    return 0;
}

static int plan_clients_side(const struct node_facts *facts, struct egress_plan *plan,
                             struct faults *faults)
{
    AUTOVEC ip_list addresses = { 0 };
    AUTOVEC egress_ref_list named = { 0 };
    int r = find_local(facts, &addresses, &named);
    if (r < 0)
        return r;
    r = add_sets(facts, plan, faults);
    if (r < 0)
        return r;
    const size_t told = faults->list.count;
    vec_each(const struct egress_ref, ref, &named) {
        r = plan_egress_named(facts, ref, faults);
        if (r < 0)
            return r;
    }
    vec_each(const struct ip, address, &addresses) {
        r = add_pod(facts, address, plan, faults);
        if (r < 0)
            return r;
    }
    plan->pods_told = faults->list.count != told || faults->incomplete;
    return plan_egress_excluded(facts, &plan->excluded, faults);
}

/* Finds the addresses of all pods that name one of these Egresses. */
static int find_clients(const struct node_facts *facts, const egress_ref_list *served,
                        ip_list *addresses)
{
    vec_each(const struct egress_ref, ref, served) {
        size_t count;
        const struct pod *const *pods =
            store_pods_of(facts->store, ref->namespace, ref->name, &count);
        for (size_t i = 0; i < count; i++) {
            for (uint32_t j = 0; j < pods[i]->ip_count; j++) {
                if (vec_push(addresses, pods[i]->ips[j]) < 0)
                    return -ENOMEM;
            }
        }
    }
    ip_list_unite(addresses);
    return 0;
}

static int add_client(const struct node_facts *facts, const egress_ref_list *served,
                      const struct ip *address, struct egress_plan *plan)
{
    CLEANUP(egress_client_freep) struct egress_client *client = NULL;
    int r = plan_egress_client(facts, served, address, &client);
    if (r < 0 || !client)
        return r;
    r = sorted_put(&plan->clients, &client);
    if (r < 0)
        return r;
    client = NULL;
    return 0;
}

const struct egress_policy *egress_plan_gateway_policy(const struct egress_plan *plan,
                                                       const struct egress_client *client)
{
    const struct egress_policy wanted = { .key = egress_client_policy(client) }, *pointer = &wanted;
    struct egress_policy *const *found = sorted_find(&plan->gateway_policies, &pointer);
    return found ? *found : NULL;
}

/* Faults of the destinations of a client's Egresses are reported on its own node. */
static int add_gateway_policy(const struct node_facts *facts, const struct egress_client *client,
                              struct egress_plan *plan)
{
    AUTOFAULTS struct faults told = { 0 };
    CLEANUP(egress_policy_freep) struct egress_policy *policy = NULL;
    const struct egress_policy_key key = egress_client_policy(client);
    if (egress_plan_gateway_policy(plan, client))
        return 0;
    int r = plan_egress_policy(facts, &key, &policy, &told);
    if (r < 0)
        return r;
    r = sorted_put(&plan->gateway_policies, &policy);
    if (r < 0)
        return r;
    policy = NULL;
    return 0;
}

/* Plans which destinations clients may use. */
static int plan_takings(const struct node_facts *facts, struct egress_plan *plan,
                        struct faults *faults)
{
    AUTOFAULTS struct faults told = { 0 }; /* reported with the client side */
    sorted_each(struct egress_client *const, client, &plan->clients) {
        int r = add_gateway_policy(facts, *client, plan);
        if (r < 0)
            return r;
    }
    return plan_egress_gateway_excluded(facts, &plan->gateway_excluded,
                                        facts->config->egress.enabled ? &told : faults);
}

static int plan_gateways_side(const struct node_facts *facts, struct egress_plan *plan,
                              struct faults *faults)
{
    AUTOVEC egress_ref_list served = { 0 };
    AUTOVEC ip_list addresses = { 0 };
    AUTOTEXT struct text list = { 0 };
    int r = plan_egress_served(facts, &served, faults);
    if (r < 0)
        return r;
    text_add(&list, "");
    vec_each(const struct egress_ref, ref, &served)
        egress_list_add(&list, ref->namespace, ref->name);
    plan->served = text_take(&list);
    if (!plan->served)
        return -ENOMEM;
    r = find_clients(facts, &served, &addresses);
    if (r < 0)
        return r;
    vec_each(const struct ip, address, &addresses) {
        r = add_client(facts, &served, address, plan);
        if (r < 0)
            return r;
    }
    return plan_takings(facts, plan, faults);
}

void egress_plan_init(struct egress_plan *plan)
{
    *plan = (struct egress_plan){
        .sets = SORTED(struct egress_set *, egress_set_cmp),
        .policies = SORTED(struct egress_policy *, egress_policy_cmp),
        .pods = SORTED(struct egress_pod *, egress_pod_cmp),
        .clients = SORTED(struct egress_client *, egress_client_cmp),
        .gateway_policies = SORTED(struct egress_policy *, egress_policy_cmp),
    };
}

void egress_plan_done(struct egress_plan *plan)
{
    sorted_each(struct egress_set *, set, &plan->sets)
        egress_set_free(*set);
    sorted_each(struct egress_policy *, policy, &plan->policies)
        egress_policy_free(*policy);
    sorted_each(struct egress_pod *, pod, &plan->pods)
        egress_pod_free(*pod);
    sorted_each(struct egress_client *, client, &plan->clients)
        egress_client_free(*client);
    sorted_done(&plan->sets);
    sorted_done(&plan->policies);
    sorted_done(&plan->pods);
    sorted_each(struct egress_policy *, policy, &plan->gateway_policies)
        egress_policy_free(*policy);
    sorted_done(&plan->clients);
    sorted_done(&plan->gateway_policies);
    vec_done(&plan->excluded);
    vec_done(&plan->gateway_excluded);
    free(plan->served);
}

int plan_egress(const struct node_facts *facts, struct egress_plan *ret_plan, struct faults *faults)
{
    CLEANUP(egress_plan_done) struct egress_plan plan;
    egress_plan_init(&plan);
    int r = facts->config->egress.enabled ? plan_clients_side(facts, &plan, faults) : 0;
    if (r < 0)
        return r;
    r = facts->config->egress.gateway.enabled ? plan_gateways_side(facts, &plan, faults) : 0;
    if (r < 0)
        return r;
    *ret_plan = TAKE_STRUCT(plan);
    return 0;
}
