// SPDX-License-Identifier: Apache-2.0
/*
 * Compares a row with its successor; see nat_change.h.
 *
 * An address is lost if clients outside, or pods, could reach it before and can't now. Both are
 * checked: on a node without an uplink only pods show that an address is served, and under policy
 * Local the outside loses an address with its last endpoint on this node, while pods still reach
 * endpoints elsewhere.
 *
 * The NAT engine calls this for every Service that it plans again. Owns nothing.
 */
#include "plan/nat/nat_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Which origins can reach one address. */
struct reach {
    struct ip address;
    bool outside, pods;
};

typedef VEC(struct reach) reach_list;

static int reach_cmp(const void *a, const void *b)
{
    return ip_cmp(&((const struct reach *)a)->address, &((const struct reach *)b)->address);
}

static bool forwards(const struct nat_frontend *frontend, enum nat_origin origin)
{
    return frontend->from[origin].act == NAT_ACT_FORWARD;
}

/* Frontends are sorted, IPv4 first: so is the list. */
static int list_reach(const struct nat_row *row, reach_list *list)
{
    for (uint32_t i = 0; row && i < row->family_count; i++) {
        vec_each(const struct nat_frontend, frontend, &row->families[i].frontends) {
            struct reach *last = list->count ? &list->items[list->count - 1] : NULL;
            if (frontend->kind == NAT_FRONTEND_NODE_PORT)
                continue;
            if (!last || !ip_equal(&last->address, &frontend->address)) {
                if (vec_push(list, (struct reach){ .address = frontend->address }) < 0)
                    return -ENOMEM;
                last = &list->items[list->count - 1];
            }
            last->outside |= forwards(frontend, NAT_ORIGIN_OUTSIDE);
            last->pods |= forwards(frontend, NAT_ORIGIN_POD);
        }
    }
    return 0;
}

static bool is_lost(const struct reach *before, const reach_list *list)
{
    const struct reach *after = vec_find(list, before, reach_cmp);
    return (before->outside && !(after && after->outside)) ||
           (before->pods && !(after && after->pods));
}

static int push_losses(const reach_list *before, const reach_list *after, ip_list *list)
{
    vec_each(const struct reach, reach, before) {
        if (is_lost(reach, after) && vec_push(list, reach->address) < 0)
            return -ENOMEM;
    }
    return 0;
}

int nat_row_losses(const struct nat_row *before, const struct nat_row *after, ip_list *list)
{
    AUTOVEC reach_list reached = { 0 };
    AUTOVEC reach_list left = { 0 };
    int r = list_reach(before, &reached);
    if (r < 0)
        return r;
    r = list_reach(after, &left);
    if (r < 0)
        return r;
    r = push_losses(&reached, &left, list);
    ip_list_unite(list);
    return r;
}

static int push_addresses(const struct nat_family *family, ip_list *list)
{
    vec_each(const struct nat_frontend, frontend, &family->frontends) {
        if (frontend->kind != NAT_FRONTEND_NODE_PORT && vec_push(list, frontend->address) < 0)
            return -ENOMEM;
    }
    return vec_append(list, &family->cluster_ips);
}

int nat_row_addresses(const struct nat_row *row, ip_list *list)
{
    int r = 0;
    for (uint32_t i = 0; r == 0 && row && i < row->family_count; i++)
        r = push_addresses(&row->families[i], list);
    ip_list_unite(list);
    return r;
}

static bool same_ips(const ip_list *a, const ip_list *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        if (!ip_equal(&a->items[i], &b->items[i]))
            return false;
    }
    return a->count == b->count;
}

static bool same_endpoints(const nat_endpoint_list *a, const nat_endpoint_list *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        if (nat_endpoint_cmp(&a->items[i], &b->items[i]) != 0)
            return false;
    }
    return a->count == b->count;
}

static bool same_port(const struct nat_port *a, const struct nat_port *b)
{
    for (size_t set = 0; set < NAT_SETS; set++) {
        if (!same_endpoints(&a->sets[set], &b->sets[set]))
            return false;
    }
    return strcmp(a->name, b->name) == 0 && a->protocol == b->protocol && a->port == b->port &&
           a->node_port == b->node_port && same_endpoints(&a->serving, &b->serving);
}

static bool same_frontend(const struct nat_frontend *a, const struct nat_frontend *b)
{
    for (enum nat_origin origin = 0; origin < NAT_ORIGINS; origin++) {
        const struct nat_outcome *left = &a->from[origin], *right = &b->from[origin];
        if (left->act != right->act || left->cause != right->cause || left->set != right->set ||
            left->masquerade != right->masquerade)
            return false;
    }
    return nat_frontend_cmp(a, b) == 0 && a->kind == b->kind && a->port_index == b->port_index;
}

static bool same_family(const struct nat_family *a, const struct nat_family *b)
{
    if (a->ports.count != b->ports.count || a->frontends.count != b->frontends.count ||
        a->source_ranges.count != b->source_ranges.count)
        return false;
    for (size_t i = 0; i < a->ports.count; i++) {
        if (!same_port(&a->ports.items[i], &b->ports.items[i]))
            return false;
    }
    for (size_t i = 0; i < a->frontends.count; i++) {
        if (!same_frontend(&a->frontends.items[i], &b->frontends.items[i]))
            return false;
    }
    for (size_t i = 0; i < a->source_ranges.count; i++) {
        if (prefix_cmp(&a->source_ranges.items[i], &b->source_ranges.items[i]) != 0)
            return false;
    }
    return a->family == b->family && a->local_ready == b->local_ready &&
           same_ips(&a->cluster_ips, &b->cluster_ips);
}

bool nat_row_equal(const struct nat_row *a, const struct nat_row *b)
{
    if (!a || !b)
        return a == b;
    if (nat_row_cmp(&a, &b) != 0 || a->affinity_seconds != b->affinity_seconds ||
        a->health_check_node_port != b->health_check_node_port ||
        a->family_count != b->family_count)
        return false;
    for (uint32_t i = 0; i < a->family_count; i++) {
        if (!same_family(&a->families[i], &b->families[i]))
            return false;
    }
    return same_ips(&a->foreign, &b->foreign);
}
