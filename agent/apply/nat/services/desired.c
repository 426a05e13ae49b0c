// SPDX-License-Identifier: Apache-2.0
/*
 * Converts a row to entries, ports and ranges.
 *
 * A port to which no frontend refers is not in the maps. Outcomes depend on port, kind of frontend
 * and source, so all frontends of one kind and port are equal in them.
 *
 * Ports of one protocol with the same address and target port share one endpoint, and sets with the
 * same endpoints are equal: a Service of a hundred ports need not use a hundred times the room in
 * the maps.
 */
#include "apply/nat/services/desired.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apply/nat/maps/addr.h"
#include "base/macro.h"

void nat_desired_done(struct nat_desired *desired)
{
    vec_each(struct nat_desired_port, port, &desired->ports) {
        for (int set = 0; set < NAT_SETS; set++)
            vec_done(&port->sets[set]);
        vec_done(&port->serving);
    }
    vec_done(&desired->ports);
    vec_done(&desired->endpoints);
    vec_done(&desired->entries);
    vec_done(&desired->ranges);
}

static uint64_t outcome_bits(const struct nat_outcome *outcome)
{
    uint64_t bits = outcome->act - NAT_ACT_FORWARD; /* NAT_OUTCOME_ACT */
    if (outcome->set == NAT_SET_LOCAL)
        bits |= NAT_OUTCOME_LOCAL;
    if (outcome->masquerade)
        bits |= NAT_OUTCOME_MASQ;
    return bits;
}

static uint64_t outcomes_of(const struct nat_family *family, uint32_t port_index)
{
    uint64_t outcomes = NAT_OUTCOMES_NONE;
    vec_each(const struct nat_frontend, frontend, &family->frontends) {
        if (frontend->port_index != port_index)
            continue;
        for (enum nat_origin origin = 0; origin < NAT_ORIGINS; origin++) {
            uint32_t shift = nat_outcome_shift(frontend->kind, origin);
            outcomes &= ~(0xfull << shift);
            outcomes |= outcome_bits(&frontend->from[origin]) << shift;
        }
    }
    return outcomes;
}

/* The place of a port in the desired, plus 1; 0: it has none. */
static uint32_t port_place(const struct nat_desired *desired, const struct nat_port *port)
{
    for (size_t i = 0; i < desired->ports.count; i++) {
        if (desired->ports.items[i].port == port)
            return (uint32_t)i + 1;
    }
    return 0;
}

static int add_port(struct nat_desired *desired, const struct nat_family *family, uint32_t index)
{
    const struct nat_port *port = &family->ports.items[index];
    if (port_place(desired, port))
        return 0;
    struct nat_desired_port item = {
        .port = port,
        .owner =
            (uint64_t)family->family << 24 | (uint64_t)(port->protocol & 0xff) << 16 | port->port,
        .outcomes = outcomes_of(family, index),
    };
    return vec_push(&desired->ports, item);
}

/* Ports with the same number, which no API server accepts, stay in the order of the row. */
static int compare_ports(const void *a, const void *b)
{
    const struct nat_desired_port *left = a, *right = b;
    int r = CMP(left->owner, right->owner);
    return r ? r : CMP(left->port, right->port);
}

static int add_ports(struct nat_desired *desired, const struct nat_row *row)
{
    for (uint32_t i = 0; i < row->family_count; i++) {
        vec_each(const struct nat_frontend, frontend, &row->families[i].frontends) {
            int r = add_port(desired, &row->families[i], frontend->port_index);
            if (r < 0)
                return r;
        }
    }
    vec_sort(&desired->ports, compare_ports);
    return 0;
}

/* ---- endpoints ---- */

/* All endpoints of a port once, in order, each with the sets to which it belongs. */
struct endpoint_union {
    const nat_endpoint_list *lists[NAT_SETS + 1];
    size_t at[NAT_SETS + 1];
};

static struct endpoint_union union_of(const struct nat_port *port)
{
    return (struct endpoint_union){ .lists = { &port->sets[0], &port->sets[1], &port->serving } };
}

/* `ret_sets`: 1 << set. False: no more. */
static bool union_next(struct endpoint_union *all, struct nat_endpoint *ret_endpoint,
                       uint32_t *ret_sets)
{
    const struct nat_endpoint *least = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(all->lists); i++) {
        if (all->at[i] == all->lists[i]->count)
            continue;
        const struct nat_endpoint *endpoint = &all->lists[i]->items[all->at[i]];
        if (!least || nat_endpoint_cmp(endpoint, least) < 0)
            least = endpoint;
    }
    if (!least)
        return false;

    struct nat_endpoint chosen = *least;
    *ret_sets = 0;
    for (unsigned i = 0; i < ARRAY_SIZE(all->lists); i++) {
        while (all->at[i] < all->lists[i]->count &&
               nat_endpoint_cmp(&all->lists[i]->items[all->at[i]], &chosen) == 0) {
            *ret_sets |= i < NAT_SETS ? 1u << i : 0;
            all->at[i]++;
        }
    }
    *ret_endpoint = chosen;
    return true;
}

/* An endpoint of a port, before endpoints have places. */
struct found {
    struct nat_stored stored;
    uint32_t port, sets;
};
typedef VEC(struct found) found_list;

static int compare_found(const void *a, const void *b)
{
    return nat_stored_cmp(&((const struct found *)a)->stored, &((const struct found *)b)->stored);
}

static int find_endpoints(struct nat_desired *desired, found_list *found)
{
    for (uint32_t i = 0; i < desired->ports.count; i++) {
        const struct nat_port *port = desired->ports.items[i].port;
        struct endpoint_union all = union_of(port);
        struct found next = { .stored.protocol = (uint8_t)port->protocol, .port = i };
        while (union_next(&all, &next.stored.endpoint, &next.sets)) {
            if (vec_push(found, next) < 0)
                return -ENOMEM;
        }
    }
    if (desired->ports.count > 1) /* one port's are in order */
        vec_sort(found, compare_found);
    return vec_reserve(&desired->endpoints, found->count);
}

static int add_place(struct nat_desired *desired, const struct found *found)
{
    size_t count = desired->endpoints.count;
    if (count == 0 || nat_stored_cmp(&desired->endpoints.items[count - 1], &found->stored) != 0)
        desired->endpoints.items[desired->endpoints.count++] = found->stored;

    struct nat_desired_port *port = &desired->ports.items[found->port];
    uint32_t place = (uint32_t)desired->endpoints.count - 1;
    for (int set = 0; set < NAT_SETS; set++) {
        if (found->sets >> set & 1 && vec_push(&port->sets[set], place) < 0)
            return -ENOMEM;
    }
    return vec_push(&port->serving, place);
}

static bool same_places(const nat_place_list *a, const nat_place_list *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof(*a->items)) == 0);
}

static size_t first_alike(const struct nat_desired *desired, size_t i, int set)
{
    const struct nat_desired_port *ports = desired->ports.items;
    for (size_t j = 0; j < i; j++) {
        if (ports[j].like[set] == j && same_places(&ports[j].sets[set], &ports[i].sets[set]))
            return j;
    }
    return i;
}

static int add_endpoints(struct nat_desired *desired)
{
    AUTOVEC found_list list = { 0 };
    if (find_endpoints(desired, &list) < 0)
        return -ENOMEM;
    vec_each(const struct found, found, &list) {
        if (add_place(desired, found) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < desired->ports.count; i++) {
        for (int set = 0; set < NAT_SETS; set++)
            desired->ports.items[i].like[set] = first_alike(desired, i, set);
    }
    return 0;
}

/* ---- entries and ranges ---- */

static int add_address(struct nat_desired *desired, const struct ip *ip,
                       enum nat_frontend_kind kind)
{
    struct nat_entry entry = { .key.addr = nat_addr_of(ip), .kind = (uint8_t)kind };
    return vec_push(&desired->entries, entry);
}

static int add_frontend(struct nat_desired *desired, const struct nat_family *family,
                        const struct nat_frontend *frontend)
{
    struct nat_entry entry = {
        .key = { .addr = nat_addr_of(&frontend->address),
                 .port = htons(frontend->port),
                 .protocol = (uint8_t)frontend->protocol },
        .port = port_place(desired, &family->ports.items[frontend->port_index]),
        .kind = (uint8_t)frontend->kind,
    };
    return vec_push(&desired->entries, entry);
}

static int add_range(struct nat_desired *desired, const struct prefix *range)
{
    struct nat_range_key key = { .addr = nat_addr_of(&range->ip) };
    key.prefixlen = 32 + (range->ip.family == IP_V4 ? 96u : 0u) + range->length;
    return vec_push(&desired->ranges, key);
}

static int add_family(struct nat_desired *desired, const struct nat_family *family)
{
    bool four = family->family == IP_V4;
    if (family->source_ranges.count)
        desired->flags |= four ? NAT_SERVICE_RANGES_V4 : NAT_SERVICE_RANGES_V6;
    int r = 0;
    for (size_t i = 0; i < family->source_ranges.count && r == 0; i++)
        r = add_range(desired, &family->source_ranges.items[i]);
    for (size_t i = 0; i < family->cluster_ips.count && r == 0; i++)
        r = add_address(desired, &family->cluster_ips.items[i], NAT_FRONTEND_REFUSED);
    for (size_t i = 0; i < family->frontends.count && r == 0; i++)
        r = add_frontend(desired, family, &family->frontends.items[i]);
    return r;
}

static void sort_out(struct nat_desired *desired)
{
    vec_sort(&desired->entries, nat_entry_cmp);
    vec_drop_equal(&desired->entries, nat_entry_cmp);
    vec_sort(&desired->ranges, nat_range_cmp);
    vec_drop_equal(&desired->ranges, nat_range_cmp);
}

int nat_desired_make(const struct nat_row *row, struct nat_desired *desired)
{
    *desired = (struct nat_desired){ 0 };
    int r = nat_name_of(row->namespace, row->name, desired->name);
    desired->flags = (uint64_t)MIN(row->affinity_seconds, 0xffffffu) << NAT_SERVICE_AFFINITY_SHIFT;
    if (r == 0)
        r = add_ports(desired, row);
    if (r == 0)
        r = add_endpoints(desired);
    for (uint32_t i = 0; i < row->family_count && r == 0; i++)
        r = add_family(desired, &row->families[i]);
    for (size_t i = 0; i < row->foreign.count && r == 0; i++)
        r = add_address(desired, &row->foreign.items[i], NAT_FRONTEND_FOREIGN);
    sort_out(desired);
    return r;
}
