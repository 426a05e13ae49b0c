// SPDX-License-Identifier: Apache-2.0
/*
 * "nat" of the document Plan: each Service in each family, with its frontends and what happens to
 * a new flow from outside, from a pod and from the node. Endpoints stand in each outcome in full,
 * so that nobody has to look anything up; who reads by machine wants just that. An Explanation
 * shows the frontends of one address in the same way.
 */
#include "api/nat/view_nat.h"

#include <stdio.h>
#include <string.h>

#include "api/document.h"
#include "status/nat_status.h"

static void write_outcome(struct json *json, const char *key, const struct nat_port *port,
                          const struct nat_outcome *outcome)
{
    json_begin_object(json, key);
    json_string(json, "verdict", nat_act_name(outcome->act));
    json_string(json, "reason", nat_cause_name(outcome->cause));
    json_begin_array(json, "endpoints");
    if (outcome->act == NAT_ACT_FORWARD) {
        vec_each(const struct nat_endpoint, endpoint, &port->sets[outcome->set])
            write_socket(json, NULL, &endpoint->ip, endpoint->port);
    }
    json_end_array(json);
    json_bool(json, "masquerade", outcome->masquerade);
    json_end_object(json);
}

static void write_range(struct json *json, const struct prefix *range)
{
    char buffer[PREFIX_STRLEN];
    json_string(json, NULL, prefix_str(range, buffer));
}

static void write_source_ranges(struct json *json, const struct nat_family *family,
                                const struct nat_frontend *frontend)
{
    if (frontend->kind != NAT_FRONTEND_LOAD_BALANCER || family->source_ranges.count == 0) {
        json_null(json, "sourceRanges");
        return;
    }
    json_begin_array(json, "sourceRanges");
    vec_each(const struct prefix, range, &family->source_ranges)
        write_range(json, range);
    json_end_array(json);
}

void write_frontend_members(struct json *json, const struct nat_family *family,
                            const struct nat_frontend *frontend)
{
    const struct nat_port *port = &family->ports.items[frontend->port_index];
    char address[IP_STRLEN];

    json_string(json, "address", ip_str(&frontend->address, address));
    json_int(json, "port", frontend->port);
    json_string(json, "protocol", protocol_name(frontend->protocol));
    json_string(json, "kind", nat_frontend_kind_name(frontend->kind));
    json_string(json, "portName", port->name);
    write_source_ranges(json, family, frontend);
    json_begin_object(json, "from");
    for (enum nat_origin origin = 0; origin < NAT_ORIGINS; origin++)
        write_outcome(json, nat_origin_name(origin), port, &frontend->from[origin]);
    json_end_object(json);
}

static void write_health(struct json *json, const struct nat_row *row,
                         const struct nat_family *family)
{
    if (row->health_check_node_port == 0) {
        json_null(json, "healthCheckNodePort");
        return;
    }
    json_begin_object(json, "healthCheckNodePort");
    json_int(json, "port", row->health_check_node_port);
    json_int(json, "localReady", family->local_ready);
    json_end_object(json);
}

static void write_family(struct json *json, const struct nat_row *row,
                         const struct nat_family *family)
{
    json_begin_object(json, NULL);
    json_string(json, "namespace", row->namespace);
    json_string(json, "name", row->name);
    json_int(json, "family", family->family);
    write_health(json, row, family);
    if (row->affinity_seconds)
        json_int(json, "affinitySeconds", row->affinity_seconds);
    else
        json_null(json, "affinitySeconds");
    json_begin_array(json, "frontends");
    vec_each(const struct nat_frontend, frontend, &family->frontends) {
        json_begin_object(json, NULL);
        write_frontend_members(json, family, frontend);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void write_nat(struct json *json, const struct sorted *rows)
{
    json_begin_array(json, "nat");
    for (size_t i = 0; i < rows->count; i++) {
        const struct nat_row *row = nat_row_at(rows, i);
        for (uint32_t j = 0; j < row->family_count; j++) {
            if (row->families[j].frontends.count)
                write_family(json, row, &row->families[j]);
        }
    }
    json_end_array(json);
}

const struct nat_row *find_nat_row(const struct sorted *rows, const char *namespace,
                                   const char *name)
{
    const struct nat_row key = { .namespace = (char *)namespace, .name = (char *)name };
    const struct nat_row *wanted = &key;
    struct nat_row *const *found = sorted_find(rows, &wanted);
    return found ? *found : NULL;
}

const struct nat_row *find_nat_row_of(const struct sorted *rows, const char *service)
{
    char namespace[NAT_NAME_MAX];
    const char *slash = strchr(service, '/');

    if (!slash || (size_t)(slash - service) >= sizeof(namespace))
        return NULL;
    (void)snprintf(namespace, sizeof(namespace), "%.*s", (int)(slash - service), service);
    return find_nat_row(rows, namespace, slash + 1);
}
