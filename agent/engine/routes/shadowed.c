// SPDX-License-Identifier: Apache-2.0
/*
 * See shadowed.h. Checked after each pass over the routes, when our own svc0 routes are in place. A
 * lookup costs some microseconds, so ten thousand Services take a hundred milliseconds, in slices.
 *
 * An address that is local to this node is correct: kube-proxy's IPVS mode, or a DNS cache. So is
 * an address without any route, as of IPv6 where that is off: its routes were refused, and that is
 * reported.
 */
#include "engine/routes/shadowed.h"

#include <errno.h>

#include "apply/lookup.h"
#include "base/clock.h"
#include "base/text.h"
#include "engine/routes/route_state.h"
#include "faults/raise.h"
#include "faults/routes.h"
#include "status/fault_book.h"

enum {
    FOUND_MAX = 16,   /* more of them add no information */
    ASKED_NET = 16,   /* in a network to which a route was added */
    ASKED_WALK = 512, /* of all, in one check */
    NETS_MAX = 256,
    ROWS_EACH_MS = 4, /* between two checks of all: they may take 2 % of a processor */
};

void shadowed_done(struct shadowed *shadowed)
{
    vec_done(&shadowed->nets);
    vec_done(&shadowed->found);
}

static const struct address_row *row_at(const struct route_engine *engine, size_t index)
{
    return *(struct address_row *const *)sorted_at(&engine->plan.addresses, index);
}

/* The first row of a network and behind it. */
static size_t row_from(const struct route_engine *engine, const struct ip *ip)
{
    const struct address_row key = { .address = *ip }, *key_ptr = &key;
    return sorted_lower_bound(&engine->plan.addresses, &key_ptr);
}

static bool has_row(const struct route_engine *engine, const struct prefix *net)
{
    size_t first = row_from(engine, &net->ip);
    return first < engine->plan.addresses.count &&
           prefix_contains(net, &row_at(engine, first)->address);
}

int shadowed_hear(struct route_engine *engine, const struct kernel_events *events)
{
    struct shadowed *shadowed = &engine->shadowed;
    shadowed->all |= events->other_rules || events->resynced || events->many_paths;
    vec_each(const struct path_change, change, &events->paths) {
        if (!has_row(engine, &change->net))
            continue;
        if (shadowed->nets.count >= NETS_MAX)
            shadowed->all = true;
        else if (vec_push(&shadowed->nets, change->net) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Whether packets to it are to be routed to svc0, by a route of its own or one of ClusterIPs. */
static bool is_led(const struct node_facts *facts, const struct address_row *row)
{
    if (row->foreign || row->gateway || row->claim_count == 0)
        return false;
    return row->svc0_route.ifindex ||
           (row->reason > REASON_OTHER_CLASS && svc0_route_covers(facts, &row->address));
}

/* Returns 1 if the kernel would route it elsewhere, 0, or -errno. What prevents our own route is
 * reported as that. */
static int is_shadowed(struct route_engine *engine, const struct ip *address, uint32_t svc0)
{
    const struct route_query query = { .destination = *address };
    struct route_found found;
    int r = route_lookup(kernel_requests(engine->kernel), &query, &found);
    if (r < 0)
        return r;
    const bool elsewhere = found.refused || (found.type == RTN_UNICAST && found.ifindex != svc0);
    return elsewhere && !failed_routes_at(&engine->failed_routes, address);
}

static bool is_found(const struct shadowed *shadowed, const struct ip *address)
{
    vec_each(const struct ip, ip, &shadowed->found) {
        if (ip_equal(ip, address))
            return true;
    }
    return false;
}

/* Queries rows from an index on, within a network or (NULL) any. Returns the index behind the last
 * one, or -errno. */
static ssize_t ask_rows(struct route_engine *engine, const struct node_facts *facts, size_t index,
                        const struct prefix *net, unsigned count)
{
    struct shadowed *shadowed = &engine->shadowed;
    for (; index < engine->plan.addresses.count && count > 0; index++) {
        const struct address_row *row = row_at(engine, index);
        const uint32_t svc0 = svc0_route_of(facts, row->address.family).ifindex;
        if (net && !prefix_contains(net, &row->address))
            break;
        if (!svc0 || !is_led(facts, row) || is_found(shadowed, &row->address))
            continue;
        count--;
        int r = is_shadowed(engine, &row->address, svc0);
        if (r > 0 && shadowed->found.count < FOUND_MAX)
            r = vec_push(&shadowed->found, row->address);
        if (r < 0)
            return r;
    }
    return (ssize_t)index;
}

/* Queries the reported addresses again: some may be corrected, or no longer served. */
static int ask_found(struct route_engine *engine, const struct node_facts *facts)
{
    ip_list before = TAKE_STRUCT(engine->shadowed.found);
    ssize_t r = 0;
    vec_each(const struct ip, ip, &before) {
        const struct prefix host = { *ip, ip_bits(ip) };
        if (r >= 0)
            r = ask_rows(engine, facts, row_from(engine, ip), &host, 1);
    }
    vec_done(&before);
    return r < 0 ? (int)r : 0;
}

static int walk(struct route_engine *engine, const struct node_facts *facts)
{
    struct shadowed *shadowed = &engine->shadowed;
    ssize_t end = ask_rows(engine, facts, row_from(engine, &shadowed->next), NULL, ASKED_WALK);
    if (end < 0)
        return (int)end;
    shadowed->walking =
        (size_t)end < engine->plan.addresses.count && shadowed->found.count < FOUND_MAX;
    if (shadowed->walking)
        shadowed->next = row_at(engine, (size_t)end)->address;
    return 0;
}

static int ask(struct route_engine *engine, const struct node_facts *facts, int64_t now_ms)
{
    struct shadowed *shadowed = &engine->shadowed;
    int r = ask_found(engine, facts);
    vec_each(const struct prefix, net, &shadowed->nets) {
        ssize_t end =
            r < 0 ? r : ask_rows(engine, facts, row_from(engine, &net->ip), net, ASKED_NET);
        r = end < 0 ? (int)end : 0;
    }
    vec_clear(&shadowed->nets);
    if (shadowed->all && now_ms >= shadowed->all_ms) {
        const int64_t pause_ms = (int64_t)engine->plan.addresses.count / ROWS_EACH_MS;
        *shadowed = (struct shadowed){ .walking = true,
                                       .all_ms = now_ms + pause_ms,
                                       .nets = shadowed->nets,
                                       .found = shadowed->found };
    }
    return r == 0 && shadowed->walking ? walk(engine, facts) : r;
}

static void add_fault(struct route_engine *engine, const struct ip *address, size_t more,
                      struct faults *faults)
{
    const size_t index = row_from(engine, address);
    const struct claim *claim = &row_at(engine, index)->claims[0];
    char text[IP_STRLEN], named[ROUTE_STRLEN];
    struct route route;
    const bool known = route_matched(kernel_requests(engine->kernel), address, &route) > 0;
    const struct link *link = known ? link_find(kernel_links(engine->kernel), route.ifindex) : NULL;
    AUTOFREE char *place = text_format("Service %s/%s", claim->namespace, claim->name);
    if (known)
        fault_raise(faults, place, address_led_away, .address = ip_str(address, text),
                    .route = route_str_via(&route, link ? link->name : "", named),
                    .table = route.table, .more = (int64_t)more);
    else
        fault_raise(faults, place, address_way_refused, .address = ip_str(address, text),
                    .more = (int64_t)more);
}

/* A new address may be diverted by a route that existed before it. */
static int invalidate_rows(struct shadowed *shadowed, const struct route_work *work)
{
    if (work->addresses.count > NETS_MAX) {
        shadowed->all = true;
        return 0;
    }
    vec_each(const struct ip, ip, &work->addresses) {
        const struct prefix host = { *ip, ip_bits(ip) };
        if (vec_push(&shadowed->nets, host) < 0)
            return -ENOMEM;
    }
    return 0;
}

int shadowed_judge(struct route_engine *engine, const struct route_work *work, int64_t now_ms)
{
    struct shadowed *shadowed = &engine->shadowed;
    const struct node_facts facts = route_facts_now(engine);
    AUTOFAULTS struct faults faults = { 0 };
    if (invalidate_rows(shadowed, work) < 0)
        return -ENOMEM;
    shadowed->all |= work->all;
    if (!facts.nat_svc0) {
        vec_clear(&shadowed->nets);
        vec_clear(&shadowed->found);
        shadowed->all = shadowed->walking = false;
    } else if (shadowed->nets.count || shadowed->all || shadowed->walking ||
               shadowed->found.count) {
        int r = ask(engine, &facts, now_ms);
        if (r < 0)
            return r;
    } else {
        return 0;
    }
    if (shadowed->found.count)
        add_fault(engine, &shadowed->found.items[0], shadowed->found.count - 1, &faults);
    return fault_book_replace(engine->status->faults, "routes", "astray", &faults, clock_wall_ms());
}

int64_t shadowed_next_ms(const struct shadowed *shadowed)
{
    return shadowed->walking ? 0 : shadowed->all ? shadowed->all_ms : INT64_MAX;
}
