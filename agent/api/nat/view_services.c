// SPDX-License-Identifier: Apache-2.0
/*
 * The document ServiceList: every Service known, what it asks for, and what became of each of its
 * addresses. An address may be shared: its state here is that of this Service's own claim on it.
 *
 * Where NAT serves, each port says what happens to new flows, in one word: the same for all
 * sources and addresses, or "partly" where some are forwarded (an Explanation has each of them).
 */
#include "api/view.h"

#include <errno.h>
#include <string.h>

#include "api/document.h"
#include "api/host_faults.h"
#include "api/nat/view_nat.h"
#include "api/pools/view_assignments.h"
#include "api/refusals.h"
#include "api/routes/view_routes.h"
#include "model/services/service.h"

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

static void write_address(struct json *json, const struct api_state *state,
                          const struct service *service, const struct service_address *address)
{
    const struct address_row *row = find_address_row(state->plan, &address->ip);
    const struct claim *claim = find_claim(row, service, address->origin);
    char buffer[IP_STRLEN];

    json_begin_object(json, NULL);
    json_string(json, "address", ip_str(&address->ip, buffer));
    json_string(json, "origin", address_origin_name(address->origin));
    if (claim) {
        const struct prefix prefix = ip_host_prefix(&address->ip);
        write_route_state(json, state, &prefix, claim->reason, claim->of);
    } else { /* seen since the last pass */
        json_string(json, "state", "withheld");
        json_null(json, "reason");
        json_null(json, "reasonText");
    }
    write_host_fault_places(json, state, &address->ip, claim && claim->reason == REASON_ANNOUNCED);
    json_end_object(json);
}

/* What the frontends of one port of a Service come to. */
struct port_summary {
    unsigned outcomes, forwarded, dropped;
    size_t sets[NAT_SETS]; /* endpoints, of both families */
};

static void summarize_frontends(const struct nat_family *family, size_t port_index,
                                struct port_summary *summary)
{
    vec_each(const struct nat_frontend, frontend, &family->frontends) {
        if (frontend->port_index != port_index)
            continue;
        for (enum nat_origin origin = 0; origin < NAT_ORIGINS; origin++) {
            summary->outcomes++;
            summary->forwarded += frontend->from[origin].act == NAT_ACT_FORWARD;
            summary->dropped += frontend->from[origin].act == NAT_ACT_DROP;
        }
    }
}

static struct port_summary summarize(const struct nat_row *row, const struct service_port *port)
{
    struct port_summary summary = { 0 };

    for (uint32_t f = 0; row && f < row->family_count; f++) {
        const struct nat_family *family = &row->families[f];
        for (size_t i = 0; i < family->ports.count; i++) {
            const struct nat_port *own = &family->ports.items[i];
            if (own->protocol != port->protocol || own->port != port->port ||
                strcmp(own->name, port->name) != 0)
                continue;
            summarize_frontends(family, i, &summary);
            for (enum nat_set_kind set = 0; set < NAT_SETS; set++)
                summary.sets[set] += own->sets[set].count;
        }
    }
    return summary;
}

static const char *verdict_word(const struct port_summary *summary)
{
    if (summary->outcomes == 0)
        return NULL;
    if (summary->forwarded > 0)
        return summary->forwarded == summary->outcomes ? "forward" : "partly";
    return nat_act_name(summary->dropped > 0 ? NAT_ACT_DROP : NAT_ACT_REJECT);
}

static void write_port(struct json *json, const struct service_port *port,
                       const struct nat_row *row)
{
    const struct port_summary summary = summarize(row, port);

    json_begin_object(json, NULL);
    json_string(json, "name", port->name);
    json_string(json, "protocol", protocol_name(port->protocol));
    json_int(json, "port", port->port);
    if (port->node_port)
        json_int(json, "nodePort", port->node_port);
    else
        json_null(json, "nodePort");
    json_string(json, "verdict", verdict_word(&summary));
    if (row && row->family_count > 0) {
        json_int(json, "endpoints", (int64_t)summary.sets[NAT_SET_CLUSTER]);
        json_int(json, "localEndpoints", (int64_t)summary.sets[NAT_SET_LOCAL]);
    } else {
        json_null(json, "endpoints");
        json_null(json, "localEndpoints");
    }
    json_end_object(json);
}

static void write_traffic(struct json *json, const struct nat_live *live,
                          const struct object *object)
{
    struct nat_counter counter = { 0 };

    if (!live || !live->counters(live->context, object->namespace, object->name, &counter)) {
        json_null(json, "traffic");
        return;
    }
    json_begin_object(json, "traffic");
    json_int(json, "packets", (int64_t)counter.packets);
    json_int(json, "bytes", (int64_t)counter.bytes);
    json_int(json, "flows", (int64_t)counter.flows);
    json_int(json, "refused", (int64_t)counter.refused);
    json_end_object(json);
}

static void write_service(struct json *json, const struct api_state *state,
                          const struct service *service, const refusal_set *refusals)
{
    const struct object *object = &service->object;
    const struct nat_row *row =
        state->nat ? find_nat_row(state->nat, object->namespace, object->name) : NULL;

    json_begin_object(json, NULL);
    json_string(json, "namespace", object->namespace);
    json_string(json, "name", object->name);
    json_string(json, "type", service_type_name(service->type));
    json_begin_array(json, "addresses");
    for (uint32_t i = 0; i < service->address_count; i++)
        write_address(json, state, service, &service->addresses[i]);
    json_end_array(json);
    write_lacks(json, "pending",
                state->assignments
                    ? assignment_of(state->assignments, object->namespace, object->name)
                    : NULL);
    json_begin_array(json, "ports");
    for (uint32_t i = 0; i < service->port_count; i++)
        write_port(json, &service->ports[i], row);
    json_end_array(json);
    json_string(json, "externalTrafficPolicy", service->external_local ? "Local" : "Cluster");
    json_string(json, "internalTrafficPolicy", service->internal_local ? "Local" : "Cluster");
    write_traffic(json, state->live, object);
    write_refusals_of(json, state, refusals, object->namespace, object->name);
    write_reading_place(json, object);
    json_end_object(json);
}

void view_services(const struct api_state *state, struct text *out)
{
    AUTOVEC object_list services = { 0 };
    CLEANUP(refusal_set_done) refusal_set refusals = { 0 };

    if (store_list(state->store, KIND_SERVICE, &services) < 0 ||
        refusal_set_load(state, &refusals) == -ENOMEM) {
        out->failed = true;
        return;
    }
    struct json json = view_begin(out, "ServiceList");
    json_begin_array(&json, "items");
    vec_each(const struct object *, object, &services)
        write_service(&json, state, to_service(*object), &refusals);
    json_end_array(&json);
    view_end(&json);
}
