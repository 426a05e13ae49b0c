// SPDX-License-Identifier: Apache-2.0
/*
 * Wanted routes that are not in the kernel, as faults; see failed_routes.h.
 *
 * IPv6 accepts an address as a route's source only after duplicate address detection, a second or
 * two after the address was added. So that refusal is reported only if it lasts.
 */
#include "engine/routes/failed_routes.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/remedy.h"
#include "base/text.h"
#include "faults/raise.h"
#include "faults/routes.h"
#include "plan/link_table.h"

enum { UNIQUE_MS = 4000 };

struct failed_route {
    struct route slot;
    bool refused;  /* refused by the kernel, worth a retry; otherwise blocked by a foreign route */
    bool examined; /* checked in this pass, and not raised again so far */
    int64_t probed_ms; /* refused for its source since then, monotonic; 0: not for that */
};

static int failed_route_cmp(const void *a, const void *b)
{
    return route_slot_cmp(&((const struct failed_route *)a)->slot,
                          &((const struct failed_route *)b)->slot);
}

void failed_routes_init(struct failed_routes *failed_routes, struct fault_book *faults)
{
    *failed_routes = (struct failed_routes){
        .slots = SORTED(struct failed_route, failed_route_cmp),
        .faults = faults,
    };
}

void failed_routes_done(struct failed_routes *failed_routes)
{
    sorted_done(&failed_routes->slots);
}

/* The group of a slot's faults: "10.0.0.1/32 table 119". */
static char *slot_group(const struct route *slot)
{
    char prefix[PREFIX_STRLEN];
    return text_format("%s table %u", prefix_str(&slot->prefix, prefix), slot->table);
}

static void raise(struct failed_routes *failed_routes, const struct route *slot, bool refused,
                  int64_t probed_ms, const struct faults *faults)
{
    struct failed_route failed_route = { .slot = *slot,
                                         .refused = refused,
                                         .probed_ms = probed_ms };
    AUTOFREE char *group = slot_group(slot);
    if (!group || sorted_put(&failed_routes->slots, &failed_route) < 0)
        return;
    (void)fault_book_replace(failed_routes->faults, "routes", group, faults, clock_wall_ms());
}

void failed_routes_examine(struct failed_routes *failed_routes, const struct route *slots,
                           size_t count)
{
    for (size_t i = 0; i < count && failed_routes->slots.count; i++) {
        struct failed_route *failed_route =
            sorted_find(&failed_routes->slots, &(struct failed_route){ .slot = slots[i] });
        if (failed_route)
            failed_route->examined = true;
    }
}

void failed_routes_examine_all(struct failed_routes *failed_routes)
{
    for (size_t i = 0; i < failed_routes->slots.count; i++)
        ((struct failed_route *)sorted_at(&failed_routes->slots, i))->examined = true;
}

static bool is_of_source(const struct route *slot, int error, const char *text)
{
    return error == -EINVAL && slot->prefix.ip.family == IP_V6 &&
           strstr(text, "Invalid source address");
}

/* Since when the kernel refuses the slot because of its source; 0: it does not. */
static int64_t probed_since(const struct failed_routes *failed_routes, const struct route *slot,
                            int error, const char *text)
{
    const struct failed_route *known =
        sorted_find(&failed_routes->slots, &(struct failed_route){ .slot = *slot });
    if (!is_of_source(slot, error, text))
        return 0;
    return known && known->probed_ms ? known->probed_ms : clock_mono_ms();
}

/* The first arguments, which every refusal has. */
static const struct fault_type *refusal_type(const struct route *slot, int error, const char *text)
{
    if (error == -EPERM)
        return &fault_type_route_refused;
    if (strstr(text, "IPv6 is disabled"))
        return &fault_type_route_refused_ipv6_off;
    if (is_of_source(slot, error, text))
        return &fault_type_route_refused_source;
    return error == -EEXIST ? &fault_type_route_slot_taken : &fault_type_route_refused;
}

static void add_refusal(struct faults *faults, const char *place, const struct route_op *op,
                        int error, const char *text)
{
    static const char *const verbs[] = {
        [OP_ADD] = "add",
        [OP_REPLACE] = "change",
        [OP_DELETE] = "delete",
    };
    char route[ROUTE_STRLEN], prefix[PREFIX_STRLEN];
    const struct fault_type *type = refusal_type(&op->route, error, text);
    const struct fault_route_slot_taken taken = {
        .verb = verbs[op->kind],
        .route = route_str(&op->route, route),
        .error = strerror(-error),
        .text = text,
        .prefix = prefix_str(&op->route.prefix, prefix),
        .table = op->route.table,
    };
    if (type == &fault_type_route_refused)
        fault_raise(faults, place, route_refused, .verb = taken.verb, .route = taken.route,
                    .error = taken.error, .text = text, .remedy = remedy_for_kernel(error));
    else
        fault_raise_type(faults, place, type, &taken);
}

void failed_routes_refused(struct failed_routes *failed_routes, const struct route_op *op,
                           int error, const char *text)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOFREE char *place = slot_group(&op->route);
    add_refusal(&faults, place, op, error, text);
    const int64_t probed_ms = probed_since(failed_routes, &op->route, error, text);
    const bool is_young = probed_ms && clock_mono_ms() - probed_ms < UNIQUE_MS;
    raise(failed_routes, &op->route, true, probed_ms, is_young ? NULL : &faults);
}

/* As `agentctl diff` shows it: interfaces by their names. */
static const char *entry(const struct route *route, const struct sorted *links,
                         char buffer[static ROUTE_STRLEN])
{
    const struct link *link = route->ifindex ? link_find(links, route->ifindex) : NULL;
    return link ? route_str_via(route, link->name, buffer) : route_str(route, buffer);
}

void failed_routes_blocked(struct failed_routes *failed_routes, const struct route *wanted,
                           const struct route *foreign, const struct sorted *links)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOFREE char *place = slot_group(wanted);
    char want[ROUTE_STRLEN], have[ROUTE_STRLEN];
    fault_raise(&faults, place, route_kept_out, .wanted = entry(wanted, links, want),
                .foreign = entry(foreign, links, have));
    raise(failed_routes, wanted, false, 0, &faults);
}

void failed_routes_settle(struct failed_routes *failed_routes)
{
    for (size_t i = failed_routes->slots.count; i > 0; i--) {
        struct failed_route *failed_route = sorted_at(&failed_routes->slots, i - 1);
        if (!failed_route->examined)
            continue;
        AUTOFREE char *group = slot_group(&failed_route->slot);
        if (!group)
            continue; /* stays examined: the next pass settles it */
        (void)fault_book_replace(failed_routes->faults, "routes", group, NULL, clock_wall_ms());
        sorted_remove(&failed_routes->slots, &(struct failed_route){ .slot = failed_route->slot });
    }
}

size_t failed_routes_count(const struct failed_routes *failed_routes, bool refused)
{
    size_t count = 0;
    for (size_t i = 0; i < failed_routes->slots.count; i++)
        count += ((struct failed_route *)sorted_at(&failed_routes->slots, i))->refused == refused;
    return count;
}

bool failed_routes_at(const struct failed_routes *failed_routes, const struct ip *address)
{
    sorted_each(const struct failed_route, failed_route, &failed_routes->slots) {
        const struct prefix *prefix = &failed_route->slot.prefix;
        if (prefix->length == ip_bits(&prefix->ip) && ip_equal(&prefix->ip, address))
            return true;
    }
    return false;
}

bool failed_routes_next_refused(const struct failed_routes *failed_routes, size_t *index,
                                struct route *ret_slot)
{
    while (*index < failed_routes->slots.count) {
        const struct failed_route *failed_route = sorted_at(&failed_routes->slots, (*index)++);
        if (!failed_route->refused)
            continue;
        *ret_slot = failed_route->slot;
        return true;
    }
    return false;
}
