// SPDX-License-Identifier: Apache-2.0
/*
 * Additional members of a document beyond kube-service-exporter's: the transport protocol, the
 * number of usable endpoints, and addresses of pods or of the Service. Called by
 * plan/export/export_service.c.
 *
 * They follow the other members, and only if configured: without details, and with NodePorts, a
 * document equals that of kube-service-exporter.
 */
#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "format/json_go.h"
#include "plan/export/export_parts.h"

struct target {
    struct ip ip;
    uint16_t port;
};

typedef VEC(struct target) target_list;

static int target_cmp(const void *a, const void *b)
{
    const struct target *left = a, *right = b;
    int r = ip_cmp(&left->ip, &right->ip);
    return r ? r : CMP(left->port, right->port);
}

/* Adds the ready endpoints; or those that serve while they terminate. */
static int add_endpoints(const struct endpoint_slice *slice, uint16_t port, bool ready,
                         target_list *targets)
{
    int r = 0;
    for (uint32_t i = 0; i < slice->endpoint_count && r == 0; i++) {
        const struct endpoint *endpoint = &slice->endpoints[i];
        bool fits = ready ? endpoint->ready : endpoint->serving && endpoint->terminating;
        if (fits)
            r = vec_push(targets, (struct target){ endpoint->ip, port });
    }
    return r;
}

static int collect(const struct exporting *exporting, const struct service *service,
                   const struct service_port *port, bool ready, target_list *targets)
{
    size_t count;
    const struct endpoint_slice *const *slices =
        store_slices_of(exporting->store, service->object.namespace, service->object.name, &count);
    int r = 0;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < slices[i]->port_count && r == 0; j++) {
            const struct slice_port *of = &slices[i]->ports[j];
            if (of->port && slices[i]->family != IP_NONE && of->protocol == port->protocol &&
                strcmp(of->name, port->name) == 0)
                r = add_endpoints(slices[i], of->port, ready, targets);
        }
    }
    vec_sort(targets, target_cmp);
    vec_drop_equal(targets, target_cmp);
    return r;
}

static int usable_endpoints(const struct exporting *exporting, const struct service *service,
                            const struct service_port *port, target_list *targets)
{
    int r = collect(exporting, service, port, true, targets);
    if (r < 0)
        return r;
    if (targets->count == 0)
        r = collect(exporting, service, port, false, targets);
    return r;
}

static int own_addresses(const struct service *service, const struct service_port *port,
                         target_list *targets)
{
    int r = 0;
    for (uint32_t i = 0; i < service->address_count && r == 0; i++) {
        const struct service_address *address = &service->addresses[i];
        if (address->origin == ADDRESS_LOAD_BALANCER)
            r = vec_push(targets, (struct target){ address->ip, port->port });
    }
    vec_sort(targets, target_cmp);
    vec_drop_equal(targets, target_cmp);
    return r;
}

static void add_targets(const target_list *targets, struct text *out)
{
    char buffer[IP_STRLEN];
    text_add(out, ",\"addresses\":[");
    vec_each(const struct target, target, targets)
        text_addf(out, "%s{\"Address\":\"%s\",\"Port\":%u}", target == targets->items ? "" : ",",
                  ip_str(&target->ip, buffer), target->port);
    text_add(out, "]");
}

int export_details(const struct exporting *exporting, const struct service *service,
                   const struct service_port *port, enum export_addresses addresses,
                   struct text *out)
{
    AUTOVEC target_list endpoints = { 0 }, own = { 0 };
    bool details = exporting->config->details;
    int r = 0;
    bool speaks = details || addresses == EXPORT_PODS;
    exporting->plan->endpoints |= speaks;
    if (speaks)
        r = usable_endpoints(exporting, service, port, &endpoints);
    if (r < 0)
        return r;
    if (addresses == EXPORT_LOAD_BALANCER)
        r = own_addresses(service, port, &own);
    if (r < 0)
        return r;
    if (details)
        text_addf(out, ",\"protocol\":\"%s\",\"ready_endpoints\":%zu",
                  protocol_name(port->protocol), endpoints.count);
    if (details && service->external_local)
        text_add(out, ",\"external_traffic_policy\":\"Local\"");
    if (addresses != EXPORT_NODE_PORTS)
        add_targets(addresses == EXPORT_PODS ? &endpoints : &own, out);
    return text_error(out);
}
