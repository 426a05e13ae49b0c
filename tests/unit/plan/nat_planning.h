/* SPDX-License-Identifier: Apache-2.0 */
/* What is planned for NAT of the objects in a planning, as text that a test can write down. */
#pragma once

#include "plan/nat/nat.h"
#include "plan/nat/nat_update.h"
#include "planning.h"
#include "status/nat_status.h"

#define CLUSTER_IP "10.96.0.1"

/* The service "d/NAME" of a type with one port h and these further lines of spec and ingress. */
static inline void put_served(struct planning *planning, const char *name, const char *type,
                              const char *cluster_ips, const char *spec, const char *ingress)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: d}\n"
                    "spec: {type: %s, clusterIPs: [%s]%s%s}\n"
                    "status: {loadBalancer: {ingress: [%s]}}\n",
                    name, type, cluster_ips, *spec ? ", " : "", spec, ingress);
    put(planning, yaml);
}

/* A slice "web-N" of port h (8080) for the service web; `endpoints` are YAML list items. */
static inline void put_slice(struct planning *planning, const char *name, const char *endpoints)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
        "metadata: {name: %s, namespace: d, labels: {kubernetes.io/service-name: web}}\n"
        "addressType: %s\nports: [{name: h, port: 8080}]\nendpoints: [%s]\n",
        name, strstr(endpoints, "fd00") ? "IPv6" : "IPv4", endpoints);
    put(planning, yaml);
}

static inline void put_node(struct planning *planning, const char *name, const char *zone,
                            const char *addresses)
{
    AUTOFREE char *yaml = text_format("apiVersion: v1\nkind: Node\n"
                                      "metadata: {name: %s%s%s%s}\nstatus: {addresses: [%s]}\n",
                                      name, *zone ? ", labels: {topology.kubernetes.io/zone: " : "",
                                      zone, *zone ? "}" : "", addresses);
    put(planning, yaml);
}

/* The row of d/NAME, which the caller frees; NULL: it has none. */
static inline struct nat_row *nat_of(struct planning *planning, const char *name)
{
    struct nat_row *row = NULL;
    const struct object *object = store_get(planning->store, KIND_SERVICE, "d", name);
    assert_non_null(object);
    assert_int_equal(
        plan_nat_service(&planning->facts, to_service(object), &row, &planning->faults), 0);
    return row;
}

static inline void nat_row_freed(struct nat_row **row)
{
    nat_row_free(*row);
}

#define AUTONAT CLEANUP(nat_row_freed)

static inline void add_set(struct text *out, const nat_endpoint_list *set)
{
    char buffer[IP_STRLEN];
    vec_each(const struct nat_endpoint, endpoint, set)
        text_addf(out, " %s:%u", ip_str(&endpoint->ip, buffer), endpoint->port);
}

/* "cluster 10.0.0.1:8080 10.0.0.2:8080, local 10.0.0.1:8080": the sets of a row's first port. */
static inline void assert_sets(struct planning *planning, const char *expected)
{
    AUTONAT struct nat_row *row = nat_of(planning, "web");
    AUTOTEXT struct text out = { 0 };
    assert_non_null(row);
    const struct nat_port *port = &row->families[0].ports.items[0];
    text_add(&out, "cluster");
    add_set(&out, &port->sets[NAT_SET_CLUSTER]);
    text_add(&out, ", local");
    add_set(&out, &port->sets[NAT_SET_LOCAL]);
    assert_string_equal(text_str(&out), expected);
}

/* The frontends of d/NAME: "10.96.0.1:80/TCP clusterIP, ..."; "" without a row. */
static inline void assert_frontends(struct planning *planning, const char *name,
                                    const char *expected)
{
    AUTONAT struct nat_row *row = nat_of(planning, name);
    AUTOTEXT struct text out = { 0 };
    char buffer[IP_STRLEN];
    for (uint32_t i = 0; row && i < row->family_count; i++) {
        vec_each(const struct nat_frontend, frontend, &row->families[i].frontends) {
            text_addf(&out, "%s%s:%u/%s %s", out.length ? ", " : "",
                      ip_str(&frontend->address, buffer), frontend->port,
                      protocol_name(frontend->protocol), nat_frontend_kind_name(frontend->kind));
        }
    }
    assert_string_equal(text_str(&out), expected);
}
