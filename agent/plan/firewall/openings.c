// SPDX-License-Identifier: Apache-2.0
/* Openings of Services; see openings.h. Called by the firewall engine and its tests. */
#include "plan/firewall/openings.h"

#include <errno.h>

#include "plan/link_table.h"
#include "plan/nat/nat_frontends.h"
#include "plan/routes/claim.h"
#include "plan/routes/real_address.h"
#include "plan/routes/route_table.h"

static bool is_open(const struct config *config, enum nat_frontend_kind kind)
{
    return kind == NAT_FRONTEND_LOAD_BALANCER || kind == NAT_FRONTEND_EXTERNAL_IP ||
           (kind == NAT_FRONTEND_NODE_PORT && config->services.firewall.node_ports);
}

static int push_family(const struct config *config, const struct nat_family *family,
                       opening_list *list)
{
    vec_each(const struct nat_frontend, frontend, &family->frontends) {
        const struct opening opening = { frontend->address, (uint8_t)frontend->protocol,
                                         frontend->port };
        if (is_open(config, frontend->kind) && vec_push(list, opening) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int plan_family(const struct node_facts *facts, const struct service *service,
                       uint8_t number, opening_list *list)
{
    CLEANUP(nat_family_done) struct nat_family family = { .family = number };
    AUTOFAULTS struct faults told_by_nat = { 0 };
    if (!claim_has_cluster_ip(service, number))
        return 0;
    int r = nat_ports(service, &family);
    if (r < 0)
        return r;
    r = nat_frontends(facts, service, &family, &told_by_nat);
    return r < 0 ? r : push_family(facts->config, &family, list);
}

int plan_openings(const struct node_facts *facts, const struct service *service, opening_list *list)
{
    if (claim_service(facts->config, service) != REASON_ANNOUNCED)
        return 0;
    int r = plan_family(facts, service, IP_V4, list);
    if (r < 0)
        return r;
    r = plan_family(facts, service, IP_V6, list);
    if (r < 0)
        return r;
    vec_sort(list, opening_cmp);
    vec_drop_equal(list, opening_cmp);
    return 0;
}

static bool is_announced(const struct sorted *routes, uint32_t table, const struct ip *ip)
{
    const struct route key = { .table = table, .prefix = ip_host_prefix(ip) };
    for (size_t i = sorted_lower_bound(routes, &key); i < routes->count; i++) {
        const struct route *route = sorted_at(routes, i);
        if (route->table != table || prefix_cmp(&route->prefix, &key.prefix) != 0)
            return false;
        if (ours_is_service(route->protocol))
            return true;
    }
    return false;
}

bool opening_is_held(const struct node_facts *facts, const struct sorted *routes,
                     const struct ip *ip)
{
    const struct prefix host = ip_host_prefix(ip);
    return (facts->local_prefixes && sorted_find(facts->local_prefixes, &host)) ||
           is_announced(routes, facts->config->routes.table, ip);
}

/* Claimed addresses with a lifetime: host addresses, deprecated from the start. */
static bool is_kept(const struct link_address *address)
{
    return address->deprecated && address->length == ip_bits(&address->ip);
}

bool opening_may_close(const struct node_facts *facts, const struct ip *ip)
{
    if (store_node_at(facts->store, ip))
        return false;
    if (!real_interface_of(facts, ip))
        return true;
    for (size_t i = 0; i < facts->link_addresses->count; i++) {
        const struct link_address *address = sorted_at(facts->link_addresses, i);
        if (ip_equal(&address->ip, ip) && !is_kept(address))
            return false;
    }
    return true;
}
