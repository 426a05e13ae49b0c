// SPDX-License-Identifier: Apache-2.0
/*
 * Dumps of routes, rules and addresses, called by kernel.c at start and whenever notifications do
 * not tell the whole story.
 *
 * A dump is filtered by the kernel (strict checking): by table, and in main, which may hold a
 * million routes of BGP, by our guard's protocol number. Rows are filtered once more here, as
 * notifications are. A table that has never had a route is ENOENT, which is an empty table.
 */
#include "apply/dump.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "apply/decode.h"
#include "apply/links.h"
#include "base/ip.h"
#include "base/macro.h"
#include "base/vec.h"
#include "plan/route_table.h"

static const uint8_t families[] = { AF_INET, AF_INET6 };

/* Rows as they come, of the type that `table` describes. */
struct dump {
    struct sorted table; /* empty; its item size and order */
    void *rows;
    size_t count, capacity;
    size_t start; /* where the request that runs now began */
    uint32_t export_table;
};

static int add_row(struct dump *dump, const void *row)
{
    int r = vec_reserve_raw(&dump->rows, dump->count, &dump->capacity, dump->table.size, 1);
    if (r == 0)
        memcpy((char *)dump->rows + dump->count++ * dump->table.size, row, dump->table.size);
    return r;
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

/* Sorts what was read, if all went well (`r`), and frees it; equal rows become one. */
static int finish(int r, struct dump *dump, struct sorted *ret_table)
{
    AUTOFREE void *rows = dump->rows;
    if (r < 0)
        return r;
    AUTOFREE struct sorted_change *changes = calloc(MAX(dump->count, (size_t)1), sizeof(*changes));
    if (!changes)
        return -ENOMEM;
    for (size_t i = 0; i < dump->count; i++)
        changes[i].item = (const char *)rows + i * dump->table.size;
    r = sorted_merge(&dump->table, changes, dump->count);
    if (r == 0)
        *ret_table = dump->table;
    return r;
}

static int on_route(const struct nlmsghdr *row, void *context)
{
    struct dump *dump = context;
    struct route route;
    if (!decode_route(row, &route) || !route_is_mirrored(&route, dump->export_table))
        return 0;
    return add_row(dump, &route);
}

static int dump_table(struct nl_socket *socket, uint8_t family, uint32_t table, struct dump *dump)
{
    struct rtmsg fixed = {
        .rtm_family = family,
        .rtm_protocol = table == RT_TABLE_MAIN ? ROUTE_PROTOCOL_GUARD : RTPROT_UNSPEC,
    };
    struct nl_request request;
    nl_begin(&request, RTM_GETROUTE, 0, &fixed, sizeof(fixed));
    nl_put_u32(&request, RTA_TABLE, table);
    int r = run(socket, &request, on_route, dump);
    return r == -ENOENT ? 0 : r;
}

int dump_routes(struct nl_socket *socket, uint32_t export_table, struct sorted *ret_routes,
                bool *ret_twins)
{
    struct dump dump = { .table = SORTED(struct route, route_cmp), .export_table = export_table };
    const uint32_t tables[] = { export_table, ROUTE_TABLE_GUARD, ROUTE_TABLE_MAIN };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(tables) * ARRAY_SIZE(families); i++)
        r = dump_table(socket, families[i % 2], tables[i / 2], &dump);
    r = finish(r, &dump, ret_routes);
    if (r == 0)
        *ret_twins = ret_routes->count < dump.count;
    return r;
}

static int on_rule(const struct nlmsghdr *row, void *context)
{
    struct dump *dump = context;
    struct rule rule;
    if (!decode_rule(row, &rule) || rule_is_standard(&rule))
        return 0;
    return add_row(dump, &rule);
}

int dump_rules(struct nl_socket *socket, uint32_t export_table, struct sorted *ret_rules)
{
    struct dump dump = { .table = SORTED(struct rule, rule_cmp), .export_table = export_table };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++) {
        struct fib_rule_hdr fixed = { .family = families[i] };
        struct nl_request request;
        nl_begin(&request, RTM_GETRULE, 0, &fixed, sizeof(fixed));
        r = run(socket, &request, on_rule, &dump);
    }
    return finish(r, &dump, ret_rules);
}

struct address_dump {
    struct dump prefixes, addresses;
};

static int on_address(const struct nlmsghdr *row, void *context)
{
    struct address_dump *dump = context;
    struct prefix host, network;
    struct link_address address;
    if (!decode_address(row, &host, &network) || !decode_link_address(row, &address))
        return 0;
    address.order = (uint32_t)dump->addresses.count;
    int r = add_row(&dump->prefixes, &host);
    if (r == 0)
        r = add_row(&dump->prefixes, &network);
    return r < 0 ? r : add_row(&dump->addresses, &address);
}

static void restart_addresses(void *context)
{
    struct address_dump *dump = context;
    restart(&dump->prefixes);
    restart(&dump->addresses);
}

int dump_addresses(struct nl_socket *socket, struct sorted *ret_prefixes,
                   struct sorted *ret_addresses)
{
    struct address_dump dump = {
        .prefixes.table = SORTED(struct prefix, prefix_item_cmp),
        .addresses.table = SORTED(struct link_address, link_address_cmp),
    };
    CLEANUP(sorted_done) struct sorted prefixes = { 0 };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++) {
        struct ifaddrmsg fixed = { .ifa_family = families[i] };
        struct nl_request request;
        dump.prefixes.start = dump.prefixes.count;
        dump.addresses.start = dump.addresses.count;
        nl_begin(&request, RTM_GETADDR, 0, &fixed, sizeof(fixed));
        r = nl_dump(socket, &request, on_address, restart_addresses, &dump);
    }
    r = finish(r, &dump.prefixes, &prefixes);
    r = finish(r, &dump.addresses, ret_addresses);
    if (r < 0)
        return r;
    *ret_prefixes = prefixes;
    prefixes = (struct sorted){ 0 };
    return 0;
}
