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
#include "plan/nat/nat_change.h"
#include "plan/nat/nat_update.h"

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
static void check_change(const struct nat_row *before, const struct nat_row *after)
{
    ip_list losses = { 0 }, addresses = { 0 };
    MUST(nat_row_losses(before, after, &losses) == 0 && nat_row_addresses(before, &addresses) == 0);
    vec_each(const struct ip, ip, &addresses) {
        bool lost = false;
        for (enum nat_origin origin = NAT_ORIGIN_OUTSIDE; origin <= NAT_ORIGIN_POD; origin++)
            lost |= row_forwards(before, ip, origin) && !row_forwards(after, ip, origin);
        MUST(has_ip(&losses, ip) == lost);
    }
    vec_each(const struct ip, ip, &losses)
        MUST(has_ip(&addresses, ip));
    MUST(nat_row_equal(before, before) &&
         nat_row_equal(before, after) == nat_row_equal(after, before));
    MUST(!nat_row_equal(before, after) || losses.count == 0);
    vec_done(&losses);
    vec_done(&addresses);
}

/* The rows are changed only when all are planned. */
struct following {
    VEC(struct nat_row *) gone, fresh;
};

static int keep(void *context, struct nat_planned *planned)
{
    struct following *following = context;
    check_change(planned->before, planned->after);
    if (planned->before)
        MUST(vec_push(&following->gone, planned->before) == 0);
    if (planned->after)
        MUST(vec_push(&following->fresh, TAKE_PTR(planned->after)) == 0);
    return 0;
}

static void set_again(struct node_plan *plan, const struct node_facts *facts)
{
    AUTOFAULTS struct faults faults = { 0 };
    nat_settings_done(&plan->settings);
    MUST(plan_nat_settings(facts, &plan->settings, &faults) == 0);
}

void nat_plan_follow(struct node_plan *plan, const struct node_facts *facts,
                     const change_list *changes)
{
    AUTOVEC nat_key_list keys = { 0 };
    struct following following = { 0 };
    bool all = false, settings = false;
    vec_each(const struct change, change, changes)
        MUST(plan_nat_affected(facts, change, &keys, &all, &settings) == 0);
    MUST(plan_nat_update(facts, &plan->services, all, &keys, keep, &following) == 0);
    vec_each(struct nat_row *, row, &following.gone) {
        sorted_remove(&plan->services, row);
        nat_row_free(*row);
    }
    vec_each(struct nat_row *, row, &following.fresh)
        MUST(sorted_put(&plan->services, row) == 0);
    vec_done(&following.gone);
    vec_done(&following.fresh);
    if (settings)
        set_again(plan, facts);
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

void nat_plan_compare(const struct node_plan *left, const struct node_plan *right)
{
    MUST(left->services.count == right->services.count);
    for (size_t i = 0; i < left->services.count; i++)
        MUST(nat_row_equal(*(struct nat_row **)sorted_at(&left->services, i),
                           *(struct nat_row **)sorted_at(&right->services, i)));
    same_nets(left->settings.pod_nets, left->settings.pod_net_count, right->settings.pod_nets,
              right->settings.pod_net_count);
    same_nets(left->settings.service_nets, left->settings.service_net_count,
              right->settings.service_nets, right->settings.service_net_count);
}

void nat_plan_check(const struct node_plan *plan)
{
    check_rows(&plan->services);
    check_routes(&plan->services, &plan->routes);
}
