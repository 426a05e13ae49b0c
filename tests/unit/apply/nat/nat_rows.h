/* SPDX-License-Identifier: Apache-2.0 */
/* Rows built by hand, for tests of the maps. What a row means is the planner's tests to say. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "plan/nat/nat_table.h"

static inline void row_freed(struct nat_row **row)
{
    nat_row_free(*row);
}
#define AUTOROW CLEANUP(row_freed)

static inline struct ip ip(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static inline struct nat_row *row_new(const char *name)
{
    struct nat_row *row = calloc(1, sizeof(*row));
    assert_non_null(row);
    row->namespace = strdup("d");
    row->name = strdup(name);
    assert_true(row->namespace && row->name);
    return row;
}

/* The row's family of this kind; it comes if it is not there, IPv4 first. */
static inline struct nat_family *row_family(struct nat_row *row, enum ip_family kind)
{
    for (uint32_t i = 0; i < row->family_count; i++) {
        if (row->families[i].family == kind)
            return &row->families[i];
    }
    assert_in_range(row->family_count, 0, 1);
    assert_true(row->family_count == 0 || kind == IP_V6);
    row->families[row->family_count].family = (uint8_t)kind;
    return &row->families[row->family_count++];
}

static inline uint32_t row_port(struct nat_family *family, enum protocol protocol, uint16_t number)
{
    struct nat_port port = { .name = strdup("p"), .protocol = protocol, .port = number };
    assert_int_equal(vec_push(&family->ports, port), 0);
    return (uint32_t)family->ports.count - 1;
}

static inline void list_add(nat_endpoint_list *list, const struct nat_endpoint *endpoint)
{
    assert_int_equal(vec_push(list, *endpoint), 0);
    vec_sort(list, nat_endpoint_cmp);
}

/* `sets`: 1 the cluster set, 2 the local set, 0 none of both. */
static inline void row_endpoint(struct nat_family *family, uint32_t port, const char *address,
                                uint16_t number, unsigned sets)
{
    struct nat_endpoint endpoint = { ip(address), number };
    struct nat_port *it = &family->ports.items[port];
    list_add(&it->serving, &endpoint);
    for (unsigned set = 0; set < NAT_SETS; set++) {
        if (sets >> set & 1)
            list_add(&it->sets[set], &endpoint);
    }
}

static inline void row_frontend(struct nat_family *family, uint32_t port,
                                enum nat_frontend_kind kind, const char *address, uint16_t number)
{
    const struct nat_port *it = &family->ports.items[port];
    struct nat_frontend frontend = {
        .address = ip(address),
        .protocol = it->protocol,
        .port = number,
        .kind = kind,
        .port_index = port,
    };
    for (int source = 0; source < NAT_ORIGINS; source++) {
        bool local = kind != NAT_FRONTEND_CLUSTER_IP && source == NAT_ORIGIN_OUTSIDE;
        struct nat_outcome *outcome = &frontend.from[source];
        outcome->act = NAT_ACT_FORWARD;
        outcome->set = local ? NAT_SET_LOCAL : NAT_SET_CLUSTER;
        outcome->masquerade = !local && source != NAT_ORIGIN_POD;
        if (it->sets[outcome->set].count == 0) {
            bool elsewhere = local && it->sets[NAT_SET_CLUSTER].count;
            outcome->act = elsewhere ? NAT_ACT_DROP : NAT_ACT_REJECT;
            outcome->cause = elsewhere ? NAT_CAUSE_NO_LOCAL : NAT_CAUSE_NO_ENDPOINTS;
            outcome->masquerade = false;
        }
    }
    assert_int_equal(vec_push(&family->frontends, frontend), 0);
    vec_sort(&family->frontends, nat_frontend_cmp);
    if (kind == NAT_FRONTEND_CLUSTER_IP) {
        struct ip address_ip = ip(address);
        vec_each(const struct ip, known, &family->cluster_ips) {
            if (ip_equal(known, &address_ip))
                return;
        }
        assert_int_equal(vec_push(&family->cluster_ips, address_ip), 0);
    }
}

static inline void row_range(struct nat_family *family, const char *range)
{
    struct prefix prefix;
    assert_int_equal(prefix_parse(range, &prefix), 0);
    assert_int_equal(vec_push(&family->source_ranges, prefix), 0);
}

/* The ClusterIP `address`, port 80/TCP, with these endpoints (port 8080) in the cluster set. */
static inline struct nat_row *row_simple(const char *name, const char *address,
                                         const char *const *endpoints)
{
    struct nat_row *row = row_new(name);
    struct nat_family *family = row_family(row, ip(address).family);
    uint32_t port = row_port(family, PROTOCOL_TCP, 80);
    for (; *endpoints; endpoints++)
        row_endpoint(family, port, *endpoints, 8080, 1);
    row_frontend(family, port, NAT_FRONTEND_CLUSTER_IP, address, 80);
    return row;
}
#define ENDPOINTS(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

/* The Service d/web with something of everything; 10.0.0.9 serves, but is in no set. */
static inline struct nat_row *row_web(void)
{
    struct nat_row *row =
        row_simple("web", "10.96.0.1", ENDPOINTS("10.0.0.1", "10.0.0.2", "10.0.0.3"));
    struct nat_family *family = &row->families[0];
    row_endpoint(family, 0, "10.0.0.9", 8080, 0);
    row_endpoint(family, 0, "10.0.0.4", 8080, 3);
    row_frontend(family, 0, NAT_FRONTEND_LOAD_BALANCER, "192.0.2.1", 80);
    row_frontend(family, 0, NAT_FRONTEND_NODE_PORT, "192.0.2.100", 30080);
    row_range(family, "10.0.0.0/8");
    row_range(family, "198.51.100.0/24");
    row->affinity_seconds = 3600;
    return row;
}
