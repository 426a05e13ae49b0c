// SPDX-License-Identifier: Apache-2.0
/*
 * The values of egress_table.h: their order, whether two are equal, and how they are freed.
 *
 * Every room that reads or writes egress compares rows by these functions, so that a sorted list of
 * one is a sorted list for all.
 */
#include "plan/egress/egress_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

const char *egress_gateway_state_name(enum egress_gateway_state state)
{
    static const char *const names[EGRESS_GATEWAY_STATES] = {
        [EGRESS_ACTIVE] = "active", [EGRESS_DRAINING] = "draining",   [EGRESS_DOUBTED] = "doubted",
        [EGRESS_SILENT] = "silent", [EGRESS_WITHDRAWN] = "withdrawn", [EGRESS_AWAY] = "away",
        [EGRESS_STALE] = "stale",
    };
    return names[state];
}

bool egress_gateway_keeps_flows(enum egress_gateway_state state)
{
    return state == EGRESS_ACTIVE || state == EGRESS_DRAINING || state == EGRESS_DOUBTED ||
           state == EGRESS_STALE;
}

int egress_gateway_cmp(const void *a, const void *b)
{
    const struct egress_gateway *left = a, *right = b;
    int r = ip_cmp(&left->address, &right->address);
    r = r ? r : CMP(left->state, right->state);
    return r ? r : strcmp(left->node, right->node);
}

int egress_set_cmp(const void *a, const void *b)
{
    const struct egress_set *const *left = a, *const *right = b;
    int r = strcmp((*left)->egress, (*right)->egress);
    return r ? r : CMP((*left)->family, (*right)->family);
}

int egress_policy_key_cmp(const struct egress_policy_key *a, const struct egress_policy_key *b)
{
    int r = CMP(a->family, b->family);
    r = r ? r : strcmp(a->egresses, b->egresses);
    return r ? r : CMP(a->waiting, b->waiting);
}

struct egress_policy_key egress_client_policy(const struct egress_client *client)
{
    return (struct egress_policy_key){ .family = client->address.family,
                                       .egresses = client->egresses };
}

int egress_policy_cmp(const void *a, const void *b)
{
    const struct egress_policy *const *left = a, *const *right = b;
    return egress_policy_key_cmp(&(*left)->key, &(*right)->key);
}

int egress_pod_cmp(const void *a, const void *b)
{
    const struct egress_pod *const *left = a, *const *right = b;
    return ip_cmp(&(*left)->address, &(*right)->address);
}

int egress_client_cmp(const void *a, const void *b)
{
    const struct egress_client *const *left = a, *const *right = b;
    return ip_cmp(&(*left)->address, &(*right)->address);
}

bool egress_set_equal(const struct egress_set *a, const struct egress_set *b)
{
    if (egress_set_cmp(&a, &b) != 0 || a->by_client != b->by_client ||
        a->source_port_auto != b->source_port_auto || a->gateways.count != b->gateways.count)
        return false;
    for (size_t i = 0; i < a->gateways.count; i++) {
        if (egress_gateway_cmp(&a->gateways.items[i], &b->gateways.items[i]) != 0)
            return false;
    }
    return true;
}

bool egress_policy_equal(const struct egress_policy *a, const struct egress_policy *b)
{
    if (egress_policy_cmp(&a, &b) != 0 || a->entries.count != b->entries.count)
        return false;
    for (size_t i = 0; i < a->entries.count; i++) {
        const struct egress_entry *left = &a->entries.items[i], *right = &b->entries.items[i];
        if (prefix_cmp(&left->destination, &right->destination) != 0 ||
            strcmp(left->egress, right->egress) != 0)
            return false;
    }
    return true;
}

bool egress_pod_equal(const struct egress_pod *a, const struct egress_pod *b)
{
    return egress_pod_cmp(&a, &b) == 0 && strcmp(a->namespace, b->namespace) == 0 &&
           strcmp(a->name, b->name) == 0 && a->is_client == b->is_client &&
           (!a->is_client || egress_policy_key_cmp(&a->policy, &b->policy) == 0);
}

bool egress_client_equal(const struct egress_client *a, const struct egress_client *b)
{
    return egress_client_cmp(&a, &b) == 0 && strcmp(a->namespace, b->namespace) == 0 &&
           strcmp(a->name, b->name) == 0 && strcmp(a->egresses, b->egresses) == 0;
}

void egress_set_free(struct egress_set *set)
{
    if (!set)
        return;
    vec_each(struct egress_gateway, gateway, &set->gateways)
        free(gateway->node);
    vec_done(&set->gateways);
    free(set->egress);
    free(set);
}

void egress_policy_free(struct egress_policy *policy)
{
    if (!policy)
        return;
    vec_each(struct egress_entry, entry, &policy->entries)
        free(entry->egress);
    vec_done(&policy->entries);
    free(policy->key.egresses);
    free(policy);
}

void egress_pod_free(struct egress_pod *pod)
{
    if (!pod)
        return;
    free(pod->namespace);
    free(pod->name);
    free(pod->policy.egresses);
    free(pod);
}

void egress_client_free(struct egress_client *client)
{
    if (!client)
        return;
    free(client->namespace);
    free(client->name);
    free(client->egresses);
    free(client);
}

int egress_port_cmp(const void *a, const void *b)
{
    return CMP(((const struct egress_port *)a)->ifindex, ((const struct egress_port *)b)->ifindex);
}
