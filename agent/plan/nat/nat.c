// SPDX-License-Identifier: Apache-2.0
/*
 * The NAT planner: objects in, rows out; see nat.h for the contract.
 *
 * Each family of a Service is planned separately, since the families are independent: the IPv6
 * addresses of a Service without IPv6 endpoints are refused while its IPv4 addresses serve. A
 * family gets its frontends (nat_frontends.c: what is served, and which Service has the port), the
 * endpoint sets of each port (nat_sets.c), and an outcome for each frontend and origin
 * (nat_outcome.c: policies, short circuits, masquerading). Of a Service of another proxy only the
 * ClusterIPs are kept, so that the program passes their packets; likewise those of every Service
 * that an interface of this node has.
 *
 * Called by `agentctl plan`. Owns nothing between calls.
 */
#include "plan/nat/nat.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/text.h"
#include "faults/nat.h"
#include "faults/raise.h"
#include "plan/nat/endpoints.h"
#include "plan/nat/nat_addresses.h"
#include "plan/nat/nat_frontends.h"
#include "plan/nat/nat_outcome.h"
#include "plan/nat/nat_sets.h"
#include "plan/object_fault.h"
#include "plan/routes/claim.h"

static struct nat_row *row_new(const struct service *service)
{
    CLEANUP(nat_row_freep) struct nat_row *row = calloc(1, sizeof(*row));
    if (!row)
        return NULL;
    row->namespace = strdup(service->object.namespace);
    row->name = strdup(service->object.name);
    return row->namespace && row->name ? TAKE_PTR(row) : NULL;
}

static int add_sets(const struct node_facts *facts, const struct service *service,
                    struct nat_family *family)
{
    for (uint32_t i = 0; i < service->port_count; i++) {
        int r = nat_port_sets(facts, service, &service->ports[i], family->family,
                              &family->ports.items[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static void add_outcomes(const struct config *config, const struct service *service,
                         struct nat_family *family)
{
    vec_each(struct nat_frontend, frontend, &family->frontends) {
        const struct nat_port *port = &family->ports.items[frontend->port_index];
        for (enum nat_origin origin = 0; origin < NAT_ORIGINS; origin++)
            frontend->from[origin] = nat_outcome(config, service, port, frontend->kind, origin);
    }
}

static void open_fault(struct faults *faults, const struct service *service, uint8_t family)
{
    object_raise(faults, &service->object, nat_ranges_familyless,
                 .family = family == IP_V4 ? "IPv4" : "IPv6");
}

static bool has_kind(const struct nat_family *family, enum nat_frontend_kind kind)
{
    vec_each(const struct nat_frontend, frontend, &family->frontends) {
        if (frontend->kind == kind)
            return true;
    }
    return false;
}

static bool has_range(const struct service *service, const struct ip *ip)
{
    for (uint32_t i = 0; i < service->source_range_count; i++) {
        if (prefix_contains(&service->source_ranges[i], ip))
            return true;
    }
    return false;
}

/*
 * If an ingress address is an address of the node, the kernel may select it as the source of the
 * node's own packets to any of them. So source ranges that allow the node allow all of them, as in
 * kube-proxy.
 */
static int add_ingress_addresses(const struct node_facts *facts, const struct service *service,
                                 struct nat_family *family)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin != ADDRESS_LOAD_BALANCER || address->ip.family != family->family ||
            has_range(service, &address->ip) ||
            claim_served(facts, service, address) != REASON_ANNOUNCED)
            continue;
        if (vec_push(&family->source_ranges, ip_host_prefix(&address->ip)) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_source_ranges(const struct node_facts *facts, const struct service *service,
                             struct nat_family *family, struct faults *faults)
{
    const struct ip *primary = nat_primary(facts, family->family);
    if (service->source_range_count == 0 || !has_kind(family, NAT_FRONTEND_LOAD_BALANCER))
        return 0;
    for (uint32_t i = 0; i < service->source_range_count; i++) {
        const struct prefix *range = &service->source_ranges[i];
        if (range->ip.family == family->family && vec_push(&family->source_ranges, *range) < 0)
            return -ENOMEM;
    }
    if (family->source_ranges.count == 0)
        open_fault(faults, service, family->family);
    if (primary && has_range(service, primary) && add_ingress_addresses(facts, service, family) < 0)
        return -ENOMEM;
    vec_sort(&family->source_ranges, prefix_item_cmp);
    vec_drop_equal(&family->source_ranges, prefix_item_cmp);
    return 0;
}

static bool has_content(const struct nat_family *family)
{
    return family->frontends.count || family->cluster_ips.count;
}

static int fill_family(const struct node_facts *facts, const struct service *service,
                       bool count_local, struct nat_family *family, struct faults *faults)
{
    int r = nat_ports(service, family);
    if (r < 0)
        return r;
    r = nat_frontends(facts, service, family, faults);
    if (r < 0)
        return r;
    r = nat_cluster_ips(facts, service, family->family, &family->cluster_ips);
    if (r < 0 || !has_content(family))
        return r;
    r = add_sets(facts, service, family);
    if (r < 0)
        return r;
    r = add_source_ranges(facts, service, family, faults);
    if (r < 0)
        return r;
    add_outcomes(facts->config, service, family);
    return count_local ? nat_local_ready(facts, service, family->family, &family->local_ready) : 0;
}

static int fill_families(const struct node_facts *facts, const struct service *service,
                         struct nat_row *row, struct faults *faults)
{
    static const uint8_t families[] = { IP_V4, IP_V6 };
    row->affinity_seconds = service->affinity_seconds;
    if (service->type == SERVICE_LOAD_BALANCER && service->external_local)
        row->health_check_node_port = service->health_check_node_port;

    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        struct nat_family *family = &row->families[row->family_count];
        if (!claim_has_cluster_ip(service, families[i]))
            continue;
        family->family = families[i];
        int r = fill_family(facts, service, row->health_check_node_port != 0, family, faults);
        if (r < 0)
            return r;
        if (has_content(family))
            row->family_count++;
        else
            nat_family_done(family);
    }
    if (row->family_count)
        endpoints_faults(facts, service, faults);
    return 0;
}

int plan_nat_service(const struct node_facts *facts, const struct service *service,
                     struct nat_row **ret_row, struct faults *faults)
{
    enum address_reason reason = claim_service(facts->config, service);
    bool foreign = reason == REASON_OTHER_PROXY;
    if (!foreign && reason != REASON_ANNOUNCED) {
        *ret_row = NULL;
        return 0;
    }
    CLEANUP(nat_row_freep) struct nat_row *row = row_new(service);
    if (!row)
        return -ENOMEM;
    int r = foreign ? nat_cluster_ips(facts, service, IP_NONE, &row->foreign)
                    : fill_families(facts, service, row, faults);
    if (r < 0)
        return r;
    r = nat_left_cluster_ips(facts, service, &row->foreign);
    if (r < 0)
        return r;
    *ret_row = row->family_count || row->foreign.count ? TAKE_PTR(row) : NULL;
    return 0;
}

void nat_rows_done(struct sorted *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        nat_row_free(*(struct nat_row **)sorted_at(rows, i));
    sorted_done(rows);
}
