// SPDX-License-Identifier: Apache-2.0
/*
 * Blackholes in main; see blackholes.h. The mirror has all of them, of any program
 * (apply/mirror/scope.h).
 *
 * A blackhole that covers no announced address is ignored: operators use them for aggregates, and
 * against attacks. Where one covers many addresses, a sample is queried.
 */
#include "engine/routes/blackholes.h"

#include "apply/lookup.h"
#include "base/clock.h"
#include "faults/raise.h"
#include "faults/routes.h"
#include "status/fault_book.h"

enum { ASKED_MAX = 64 }; /* lookups of one judgement: some microseconds each */

struct find {
    const struct route *route; /* the first that drops an address; NULL: none does */
    struct ip address;         /* that address */
    uint32_t copies;           /* blackholes that cover an announced address */
    uint32_t asked;
};

static bool is_foreign_blackhole(const struct route_engine *engine, const struct route *route)
{
    return route->table == ROUTE_TABLE_MAIN && route->type == RTN_BLACKHOLE &&
           !route_is_ours(route, engine->config->routes.table);
}

static bool concerns(const struct route_engine *engine, const struct route_work *work)
{
    if (work->all || engine->swallowed)
        return true;
    vec_each(const struct route, route, &work->foreign_changes) {
        if (is_foreign_blackhole(engine, route))
            return true;
    }
    return false;
}

/* Queries the announced addresses that it covers, until one is dropped. */
static int judge(const struct route_engine *engine, const struct route *route, struct find *find)
{
    const struct sorted *rows = &engine->plan.addresses;
    const struct address_row key = { .address = route->prefix.ip }, *key_ptr = &key;
    bool copied = false;
    for (size_t i = sorted_lower_bound(rows, &key_ptr); i < rows->count; i++) {
        const struct address_row *row = *(struct address_row *const *)sorted_at(rows, i);
        bool reaches;
        if (!prefix_contains(&route->prefix, &row->address))
            break;
        if (row->reason != REASON_ANNOUNCED)
            continue;
        copied = true;
        if (find->route || find->asked++ >= ASKED_MAX)
            break;
        int r = route_reaches(kernel_requests(engine->kernel), &row->address, &reaches);
        if (r < 0)
            return r;
        if (!reaches)
            *find = (struct find){ route, row->address, find->copies, find->asked };
    }
    find->copies += copied;
    return 0;
}

static void add_fault(const struct find *find, struct faults *faults)
{
    char address[IP_STRLEN], route[ROUTE_STRLEN];
    const struct fault_routes_blackholed arguments = {
        .address = ip_str(&find->address, address),
        .route = route_str(find->route, route),
        .more = find->copies > 1 ? find->copies - 1 : 0,
    };
    const bool of_bird = find->route->protocol == RTPROT_BIRD; /* with the same arguments */
    fault_raise_type(faults, "table main",
                     of_bird ? &fault_type_routes_blackholed_by_bird
                             : &fault_type_routes_blackholed,
                     &arguments);
}

int blackholes_judge(struct route_engine *engine, const struct route_work *work)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct find find = { 0 };
    if (!concerns(engine, work))
        return 0;
    sorted_each(const struct route, route, kernel_routes(engine->kernel)) {
        int r = is_foreign_blackhole(engine, route) ? judge(engine, route, &find) : 0;
        if (r < 0)
            return r;
    }
    engine->swallowed = find.route != NULL;
    if (find.route)
        add_fault(&find, &faults);
    return fault_book_replace(engine->status->faults, "routes", "blackholes", &faults,
                              clock_wall_ms());
}
