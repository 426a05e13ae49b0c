// SPDX-License-Identifier: Apache-2.0
/*
 * Health ports of rows, and the addresses to serve them on.
 *
 * A health port returns the number of distinct addresses of ready endpoints on this node
 * (nat_sets.c). An endpoint that serves while it terminates does not count, so that the load
 * balancer stops using the node before the endpoint ends. A row has a health port only if type and
 * policy of the Service require one. Whether we serve its load balancer addresses (ipMode Proxy)
 * does not matter: we always serve its ClusterIP.
 *
 * Health ports listen on all addresses unless nodePortAddresses are configured, as kube-proxy's do.
 * By default NodePorts are served on the primary addresses only, but a load balancer may check any
 * address of the node.
 */
#include "plan/nat/nat_health.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/nat/nat.h"
#include "plan/nat/nat_addresses.h"

int nat_health_cmp(const void *a, const void *b)
{
    const struct nat_health_port *left = a, *right = b;
    int r = strcmp(left->namespace, right->namespace);
    return r ? r : strcmp(left->name, right->name);
}

bool nat_health_of_row(const struct nat_row *row, struct nat_health_port *ret_port)
{
    if (row->health_check_node_port == 0 || row->family_count == 0)
        return false;
    *ret_port = (struct nat_health_port){
        .namespace = row->namespace,
        .name = row->name,
        .port = row->health_check_node_port,
        .ready_v4 = NAT_HEALTH_ABSENT,
        .ready_v6 = NAT_HEALTH_ABSENT,
    };
    for (uint32_t i = 0; i < row->family_count; i++) {
        const struct nat_family *family = &row->families[i];
        if (family->family == IP_V4)
            ret_port->ready_v4 = family->local_ready;
        else
            ret_port->ready_v6 = family->local_ready;
    }
    return true;
}

int nat_health_of_rows(const struct sorted *rows, nat_health_list *ret_list)
{
    AUTOVEC nat_health_list list = { 0 };
    sorted_each(struct nat_row *const, row, rows) {
        struct nat_health_port port;
        if (nat_health_of_row(*row, &port) && vec_push(&list, port) < 0)
            return -ENOMEM;
    }
    *ret_list = TAKE_STRUCT(list);
    return 0;
}

uint32_t nat_health_count(const struct nat_health_port *port, uint8_t family)
{
    int64_t own = family == IP_V6 ? port->ready_v6 : port->ready_v4;
    int64_t other = family == IP_V6 ? port->ready_v4 : port->ready_v6;
    if (own == NAT_HEALTH_ABSENT)
        own = other;
    return own == NAT_HEALTH_ABSENT ? 0 : (uint32_t)own;
}

/* True if the configuration does not restrict the family's NodePort addresses. */
static bool is_everywhere(const struct config *config, uint8_t family)
{
    if (!config->services.node_ports_set)
        return true;
    bool mentioned = config->services.node_port_primary;
    vec_each(const struct prefix, range, &config->services.node_port_addresses) {
        if (range->ip.family == family && range->length == 0)
            return true;
        mentioned |= range->ip.family == family;
    }
    return !mentioned;
}

static int add_family(const struct node_facts *facts, uint8_t family, bool everywhere,
                      ip_list *list)
{
    if (everywhere)
        return vec_push(list, (struct ip){ .family = family });
    AUTOVEC ip_list found = { 0 };
    int r = nat_node_port_addresses(facts, family, &found);
    return r < 0 ? r : vec_append(list, &found);
}

int nat_health_addresses(const struct node_facts *facts, ip_list *ret_list)
{
    bool all_v4 = is_everywhere(facts->config, IP_V4), all_v6 = is_everywhere(facts->config, IP_V6);
    AUTOVEC ip_list list = { 0 };
    int r = all_v4 && all_v6 ? vec_push(&list, (struct ip){ .family = IP_NONE })
                             : add_family(facts, IP_V4, all_v4, &list);
    if (r < 0)
        return r;
    if (!all_v4 || !all_v6)
        r = add_family(facts, IP_V6, all_v6, &list);
    if (r < 0)
        return r;
    *ret_list = TAKE_STRUCT(list);
    return 0;
}
