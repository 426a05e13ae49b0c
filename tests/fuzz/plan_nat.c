// SPDX-License-Identifier: Apache-2.0
/*
 * The NAT half of the fuzz target `plan`. Rows and settings that follow the changes of the store
 * equal those made from nothing; no frontend and no ClusterIP is given twice; who is chosen serves;
 * what a change takes service away from is what a plain count of frontends says; and an address
 * whose route is wanted forwards from outside.
 */
#include "plan_nat.h"

#include <string.h>

#include "fuzz.h"
#include "plan/nat_change.h"

static bool has_ip(const ip_list *list, const struct ip *ip)
{
    vec_each(const struct ip, item, list) {
        if (ip_equal(item, ip))
            return true;
    }
    return false;
}

static bool row_forwards(const struct nat_row *row, const struct ip *ip, enum nat_origin origin)
{
    for (uint32_t i = 0; row && i < row->family_count; i++) {
        vec_each(const struct nat_frontend, frontend, &row->families[i].frontends) {
            if (frontend->kind != NAT_FRONTEND_NODE_PORT && ip_equal(&frontend->address, ip) &&
                frontend->from[origin].act == NAT_ACT_FORWARD)
                return true;
        }
    }
    return false;
}

/* From one row of a Service to the next. */
static void check_change(const struct nat_row *old, const struct nat_row *new)
{
    ip_list losses = { 0 }, addresses = { 0 };
    MUST(nat_row_losses(old, new, &losses) == 0 && nat_row_addresses(old, &addresses) == 0);
    vec_each(const struct ip, ip, &addresses) {
        bool lost = false;
        for (enum nat_origin origin = NAT_ORIGIN_OUTSIDE; origin <= NAT_ORIGIN_POD; origin++)
            lost |= row_forwards(old, ip, origin) && !row_forwards(new, ip, origin);
        MUST(has_ip(&losses, ip) == lost);
    }
    vec_each(const struct ip, ip, &losses)
        MUST(has_ip(&addresses, ip));
    MUST(nat_row_equal(old, old) && nat_row_equal(old, new) == nat_row_equal(new, old));
    MUST(!nat_row_equal(old, new) || losses.count == 0);
    vec_done(&losses);
    vec_done(&addresses);
}

static void plan_again(struct sorted *rows, const struct node_facts *facts,
                       const struct nat_key *key)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct nat_row name = { .namespace = (char *)key->namespace, .name = (char *)key->name };
    struct nat_row *wanted = &name, *old = NULL, *new = NULL;
    struct nat_row **found = sorted_find(rows, &wanted);
    if (found) {
        old = *found;
        sorted_remove(rows, &wanted);
    }
    const struct object *object = store_get(facts->store, KIND_SERVICE, key->namespace, key->name);
    if (object)
        MUST(plan_nat_service(facts, to_service(object), &new, &faults) == 0);
    check_change(old, new);
    if (new)
        MUST(sorted_put(rows, &new) == 0);
    nat_row_free(old);
}

static void set_again(struct nat_kept *kept, const struct node_facts *facts)
{
    AUTOFAULTS struct faults faults = { 0 };
    nat_settings_done(&kept->settings);
    MUST(plan_nat_settings(facts, &kept->settings, &faults) == 0);
}

void nat_kept_follow(struct nat_kept *kept, const struct node_facts *facts,
                     const change_list *changes)
{
    nat_key_list keys = { 0 };
    object_list services = { 0 };
    bool all = false, settings = false;
    vec_each(const struct change, change, changes)
        MUST(plan_nat_affected(facts, change, &keys, &all, &settings) == 0);
    if (all)
        MUST(store_list(facts->store, KIND_SERVICE, &services) == 0);
    vec_each(const struct object *, object, &services)
        MUST(vec_push(&keys, (struct nat_key){ (*object)->namespace, (*object)->name }) == 0);
    vec_each(const struct nat_key, key, &keys)
        plan_again(&kept->rows, facts, key);
    if (settings)
        set_again(kept, facts);
    vec_done(&services);
    vec_done(&keys);
}

static int frontend_cmp(const void *a, const void *b)
{
    return nat_frontend_cmp(*(const struct nat_frontend *const *)a,
                            *(const struct nat_frontend *const *)b);
}

static void check_sets(const struct nat_port *port)
{
    for (size_t set = 0; set < NAT_SETS; set++) {
        vec_each(const struct nat_endpoint, endpoint, &port->sets[set]) {
            MUST(endpoint == port->sets[set].items || nat_endpoint_cmp(endpoint - 1, endpoint) < 0);
            MUST(bsearch(endpoint, port->serving.items, port->serving.count, sizeof(*endpoint),
                         nat_endpoint_cmp));
        }
    }
    vec_each(const struct nat_endpoint, endpoint, &port->serving)
        MUST(endpoint == port->serving.items || nat_endpoint_cmp(endpoint - 1, endpoint) < 0);
}

static void check_frontend(const struct nat_family *family, const struct nat_frontend *frontend)
{
    MUST(frontend->port_index < family->ports.count);
    const struct nat_port *port = &family->ports.items[frontend->port_index];
    for (enum nat_origin origin = 0; origin < NAT_ORIGINS; origin++) {
        const struct nat_outcome *outcome = &frontend->from[origin];
        MUST((outcome->act == NAT_ACT_FORWARD) == (port->sets[outcome->set].count > 0));
        MUST((outcome->act == NAT_ACT_REJECT) == (port->sets[NAT_SET_CLUSTER].count == 0));
    }
    MUST(frontend->address.family == family->family && frontend->protocol == port->protocol);
}

/* No two frontends have one place, no two Services one ClusterIP. */
static void check_rows(const struct sorted *rows)
{
    VEC(const struct nat_frontend *) frontends = { 0 };
    ip_list cluster_ips = { 0 };
    size_t owned = 0;
    sorted_each(struct nat_row *const, row, rows) {
        MUST((*row)->family_count == 0 || (*row)->foreign.count == 0);
        MUST((*row)->family_count || (*row)->foreign.count);
        vec_each(const struct ip, ip, &(*row)->foreign)
            MUST(vec_push(&cluster_ips, *ip) == 0);
        for (uint32_t i = 0; i < (*row)->family_count; i++) {
            const struct nat_family *family = &(*row)->families[i];
            MUST(family->frontends.count || family->cluster_ips.count);
            vec_each(const struct nat_port, port, &family->ports)
                check_sets(port);
            vec_each(const struct ip, ip, &family->cluster_ips)
                MUST(vec_push(&cluster_ips, *ip) == 0);
            vec_each(const struct nat_frontend, frontend, &family->frontends) {
                check_frontend(family, frontend);
                MUST(vec_push(&frontends, frontend) == 0);
            }
        }
    }
    owned = cluster_ips.count;
    ip_list_unite(&cluster_ips);
    MUST(cluster_ips.count == owned);
    vec_sort(&frontends, frontend_cmp);
    for (size_t i = 1; i < frontends.count; i++)
        MUST(nat_frontend_cmp(frontends.items[i - 1], frontends.items[i]) < 0);
    vec_done(&cluster_ips);
    vec_done(&frontends);
}

static bool is_cluster_ip(const struct sorted *rows, const struct ip *ip)
{
    sorted_each(struct nat_row *const, row, rows) {
        for (uint32_t i = 0; i < (*row)->family_count; i++) {
            vec_each(const struct nat_frontend, frontend, &(*row)->families[i].frontends) {
                if (frontend->kind == NAT_FRONTEND_CLUSTER_IP && ip_equal(&frontend->address, ip))
                    return true;
            }
        }
    }
    return false;
}

/* Where a Service has one address in two fields, of two policies, a proof has to decide. */
static void check_routes(const struct sorted *rows, const struct route_plan *plan)
{
    sorted_each(struct address_row *const, address, &plan->addresses) {
        bool forwards =
            (*address)->reason != REASON_ANNOUNCED || is_cluster_ip(rows, &(*address)->address);
        sorted_each(struct nat_row *const, row, rows)
            forwards |= row_forwards(*row, &(*address)->address, NAT_ORIGIN_OUTSIDE);
        MUST(forwards);
    }
}

static void same_nets(const struct prefix *left, size_t left_count, const struct prefix *right,
                      size_t right_count)
{
    MUST(left_count == right_count);
    for (size_t i = 0; i < left_count; i++)
        MUST(prefix_cmp(&left[i], &right[i]) == 0);
}

void nat_kept_compare(const struct nat_kept *left, const struct nat_kept *right)
{
    MUST(left->rows.count == right->rows.count);
    for (size_t i = 0; i < left->rows.count; i++)
        MUST(nat_row_equal(*(struct nat_row **)sorted_at(&left->rows, i),
                           *(struct nat_row **)sorted_at(&right->rows, i)));
    same_nets(left->settings.pod_nets, left->settings.pod_net_count, right->settings.pod_nets,
              right->settings.pod_net_count);
    same_nets(left->settings.service_nets, left->settings.service_net_count,
              right->settings.service_nets, right->settings.service_net_count);
}

void nat_kept_check(const struct nat_kept *kept, const struct node_facts *facts,
                    const struct route_plan *plan)
{
    struct nat_kept anew;
    nat_kept_begin(&anew, facts);
    nat_kept_compare(kept, &anew);
    check_rows(&kept->rows);
    check_routes(&kept->rows, plan);
    nat_kept_done(&anew);
}

void nat_kept_begin(struct nat_kept *kept, const struct node_facts *facts)
{
    AUTOFAULTS struct faults faults = { 0 };
    *kept = (struct nat_kept){ 0 };
    MUST(plan_nat(facts, &kept->rows, &faults) == 0);
    MUST(plan_nat_settings(facts, &kept->settings, &faults) == 0);
}

void nat_kept_done(struct nat_kept *kept)
{
    nat_rows_done(&kept->rows);
    nat_settings_done(&kept->settings);
}
