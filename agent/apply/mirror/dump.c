// SPDX-License-Identifier: Apache-2.0
/*
 * Dumps of routes, rules and addresses, called by kernel.c at start and whenever notifications are
 * incomplete.
 *
 * The kernel filters a dump (strict checking): by table, and in main, which may hold a million
 * routes of BGP, by protocol number or type; addresses by interface. Rows are filtered again here,
 * as notifications are. A table that has never had a route results in ENOENT, which is treated as
 * an empty table.
 */
#include "apply/mirror/dump.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "apply/mirror/decode.h"
#include "apply/mirror/links.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/net/ip.h"
#include "base/vec.h"

static const uint8_t families[] = { AF_INET, AF_INET6 };

/* Rows in the order of arrival, of the type that `table` describes. */
struct dump {
    struct sorted table; /* empty until finish(); its item size and order */
    void *rows;
    size_t count, capacity;
    size_t start; /* start of the rows of the current request */
    const struct kernel_scope *scope;
};

static void dump_done(struct dump *dump)
{
    sorted_done(&dump->table);
    free(dump->rows);
}

static int add_row(struct dump *dump, const void *row)
{
    int r = vec_reserve_raw(&dump->rows, dump->count, &dump->capacity, dump->table.size, 1);
    if (r < 0)
        return r;
    memcpy((char *)dump->rows + dump->count++ * dump->table.size, row, dump->table.size);
    return 0;
}

static void restart(void *context)
{
    struct dump *dump = context;
    dump->count = dump->start;
}

static int run(struct nl_socket *socket, struct nl_request *request, nl_row_fn on_row,
               struct dump *dump)
{
    dump->start = dump->count;
    return nl_dump(socket, request, on_row, restart, dump);
}

/* Sorts the rows into the table; duplicates are removed. */
static int finish(struct dump *dump)
{
    AUTOFREE struct sorted_change *changes = calloc(MAX(dump->count, (size_t)1), sizeof(*changes));
    if (!changes)
        return -ENOMEM;
    for (size_t i = 0; i < dump->count; i++)
        changes[i].item = (const char *)dump->rows + i * dump->table.size;
    return sorted_merge(&dump->table, changes, dump->count);
}

static int on_route(const struct nlmsghdr *row, void *context)
{
    struct dump *dump = context;
    struct route route;
    if (!decode_route(row, &route) || !scope_has_route(dump->scope, &route))
        return 0;
    return add_row(dump, &route);
}

static int dump_table(struct nl_socket *socket, uint8_t family, const struct scope_routes *routes,
                      struct dump *dump)
{
    struct rtmsg fixed = { .rtm_family = family,
                           .rtm_protocol = routes->protocol,
                           .rtm_type = routes->type };
    struct nl_request request;
    nl_begin(&request, RTM_GETROUTE, 0, &fixed, sizeof(fixed));
    nl_put_u32(&request, RTA_TABLE, routes->table);
    int r = run(socket, &request, on_route, dump);
    return r == -ENOENT ? 0 : r;
}

int dump_routes(struct nl_socket *socket, const struct kernel_scope *scope,
                struct sorted *ret_routes, bool *ret_twins)
{
    CLEANUP(dump_done)
    struct dump dump = {
        .table = SORTED(struct route, route_cmp),
        .scope = scope,
    };
    for (size_t i = 0; i < scope->route_count * ARRAY_SIZE(families); i++) {
        int r = dump_table(socket, families[i % 2], &scope->routes[i / 2], &dump);
        if (r < 0)
            return r;
    }
    int r = finish(&dump);
    if (r < 0)
        return r;
    *ret_twins = dump.table.count < dump.count;
    *ret_routes = TAKE_STRUCT(dump.table);
    return 0;
}

static int on_rule(const struct nlmsghdr *row, void *context)
{
    struct rule rule;
    if (!decode_rule(row, &rule) || rule_is_standard(&rule))
        return 0;
    return add_row(context, &rule);
}

int dump_rules(struct nl_socket *socket, struct sorted *ret_rules)
{
    CLEANUP(dump_done) struct dump dump = { .table = SORTED(struct rule, rule_cmp) };
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        struct fib_rule_hdr fixed = { .family = families[i] };
        struct nl_request request;
        nl_begin(&request, RTM_GETRULE, 0, &fixed, sizeof(fixed));
        int r = run(socket, &request, on_rule, &dump);
        if (r < 0)
            return r;
    }
    int r = finish(&dump);
    if (r < 0)
        return r;
    *ret_rules = TAKE_STRUCT(dump.table);
    return 0;
}

struct address_dump {
    struct dump prefixes, networks, addresses;
    uint32_t ifindex;
};

static void address_dump_done(struct address_dump *dump)
{
    dump_done(&dump->prefixes);
    dump_done(&dump->networks);
    dump_done(&dump->addresses);
}

static int on_address(const struct nlmsghdr *row, void *context)
{
    struct address_dump *dump = context;
    struct prefix host, network;
    struct link_address address;
    if (!decode_address(row, &host, &network) || !decode_link_address(row, &address) ||
        (dump->ifindex && address.ifindex != dump->ifindex))
        return 0;
    address.order = (uint32_t)dump->addresses.count;
    if (add_row(&dump->prefixes, &host) < 0 || add_row(&dump->prefixes, &network) < 0)
        return -ENOMEM;
    if (network.length < ip_bits(&network.ip) && add_row(&dump->networks, &network) < 0)
        return -ENOMEM;
    return add_row(&dump->addresses, &address);
}

static void restart_addresses(void *context)
{
    struct address_dump *dump = context;
    restart(&dump->prefixes);
    restart(&dump->networks);
    restart(&dump->addresses);
}

static int dump_family(struct nl_socket *socket, uint8_t family, struct address_dump *dump)
{
    struct ifaddrmsg fixed = { .ifa_family = family, .ifa_index = dump->ifindex };
    struct nl_request request;
    dump->prefixes.start = dump->prefixes.count;
    dump->networks.start = dump->networks.count;
    dump->addresses.start = dump->addresses.count;
    nl_begin(&request, RTM_GETADDR, 0, &fixed, sizeof(fixed));
    int r = nl_dump(socket, &request, on_address, restart_addresses, dump);
    return dump->ifindex && r == -ENODEV ? 0 : r;
}

int dump_addresses(struct nl_socket *socket, uint32_t ifindex, struct sorted *ret_prefixes,
                   struct sorted *ret_networks, struct sorted *ret_addresses)
{
    CLEANUP(address_dump_done)
    struct address_dump dump = {
        .prefixes.table = SORTED(struct prefix, prefix_item_cmp),
        .networks.table = SORTED(struct prefix, prefix_item_cmp),
        .addresses.table = SORTED(struct link_address, link_address_cmp),
        .ifindex = ifindex,
    };
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        int r = dump_family(socket, families[i], &dump);
        if (r < 0)
            return r;
    }
    int r = finish(&dump.prefixes);
    if (r < 0)
        return r;
    r = finish(&dump.networks);
    if (r < 0)
        return r;
    r = finish(&dump.addresses);
    if (r < 0)
        return r;
    *ret_prefixes = TAKE_STRUCT(dump.prefixes.table);
    *ret_networks = TAKE_STRUCT(dump.networks.table);
    *ret_addresses = TAKE_STRUCT(dump.addresses.table);
    return 0;
}
