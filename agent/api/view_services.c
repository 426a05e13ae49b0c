// SPDX-License-Identifier: Apache-2.0
/*
 * The document ServiceList: every Service known, what it asks for, and what became of each of its
 * addresses. An address may be shared: its state here is that of this Service's own claim on it.
 */
#include "api/view.h"

#include <string.h>

#include "api/view_parts.h"
#include "model/service.h"

static void object_list_done(object_list *list)
{
    vec_done(list);
}

static const struct claim *find_claim(const struct address_row *row, const struct service *service,
                                      enum address_origin origin)
{
    for (uint32_t i = 0; row && i < row->claim_count; i++) {
        const struct claim *claim = &row->claims[i];
        if (claim->origin == origin && strcmp(claim->name, service->object.name) == 0 &&
            strcmp(claim->namespace, service->object.namespace) == 0)
            return claim;
    }
    return NULL;
}

static void write_address(struct json *json, const struct route_plan *plan,
                          const struct service *service, const struct service_address *address)
{
    const struct address_row *row = find_address_row(plan, &address->ip);
    const struct claim *claim = find_claim(row, service, address->origin);
    char buffer[IP_STRLEN];

    json_begin_object(json, NULL);
    json_string(json, "address", ip_str(&address->ip, buffer));
    json_string(json, "origin", address_origin_name(address->origin));
    if (claim) {
        json_string(json, "state", reason_state(claim->reason));
        json_string(json, "reason", address_reason_name(claim->reason));
        json_string(json, "reasonText", address_reason_text(claim->reason));
    } else { /* seen since the last pass */
        json_string(json, "state", "withheld");
        json_null(json, "reason");
        json_null(json, "reasonText");
    }
    json_end_object(json);
}

static void write_port(struct json *json, const struct service_port *port)
{
    json_begin_object(json, NULL);
    json_string(json, "name", port->name);
    json_string(json, "protocol", protocol_name(port->protocol));
    json_int(json, "port", port->port);
    if (port->node_port)
        json_int(json, "nodePort", port->node_port);
    else
        json_null(json, "nodePort");
    json_end_object(json);
}

static void write_service(struct json *json, const struct route_plan *plan,
                          const struct service *service)
{
    json_begin_object(json, NULL);
    json_string(json, "namespace", service->object.namespace);
    json_string(json, "name", service->object.name);
    json_string(json, "type", service_type_name(service->type));
    json_begin_array(json, "addresses");
    for (uint32_t i = 0; i < service->address_count; i++)
        write_address(json, plan, service, &service->addresses[i]);
    json_end_array(json);
    json_begin_array(json, "ports");
    for (uint32_t i = 0; i < service->port_count; i++)
        write_port(json, &service->ports[i]);
    json_end_array(json);
    json_string(json, "externalTrafficPolicy", service->external_local ? "Local" : "Cluster");
    json_string(json, "internalTrafficPolicy", service->internal_local ? "Local" : "Cluster");
    json_string(json, "file", service->object.file);
    json_int(json, "line", service->object.line);
    json_end_object(json);
}

void view_services(const struct api_state *state, struct text *out)
{
    CLEANUP(object_list_done) object_list services = { 0 };

    if (store_list(state->store, KIND_SERVICE, &services) < 0) {
        out->failed = true;
        return;
    }
    struct json json = view_begin(out, "ServiceList");
    json_begin_array(&json, "items");
    vec_each(const struct object *, object, &services)
        write_service(&json, state->plan, to_service(*object));
    json_end_array(&json);
    view_end(&json);
}
