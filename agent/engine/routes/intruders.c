// SPDX-License-Identifier: Apache-2.0
/*
 * See intruders.h. Called in each pass over the routes; the kernel notifies of each route that is
 * added or deleted, so no check runs in between. Other programs' routes in the table are foreign as
 * well, but may be intended: BIRD learns those, and its filters pass none of them.
 */
#include "engine/routes/intruders.h"

#include "base/clock.h"
#include "base/text.h"
#include "faults/raise.h"
#include "faults/routes.h"

static bool is_intruder(const struct route_engine *engine, const struct route *route)
{
    return route->table == engine->config->routes.table && route->protocol == RTPROT_BIRD;
}

static bool concerns(const struct route_engine *engine, const struct route_work *work)
{
    if (work->all || engine->intruded)
        return true;
    vec_each(const struct route, route, &work->foreign_changes) {
        if (is_intruder(engine, route))
            return true;
    }
    return false;
}

static void tell(const struct route *first, size_t count, struct faults *faults)
{
    char route[ROUTE_STRLEN];
    AUTOFREE char *place = text_format("table %u", first->table);
    fault_raise(faults, place, routes_of_bird, .route = route_str(first, route),
                .more = (int64_t)(count - 1));
}

int intruders_judge(struct route_engine *engine, const struct route_work *work)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct route *first = NULL;
    size_t count = 0;
    if (!concerns(engine, work))
        return 0;
    sorted_each(const struct route, route, kernel_routes(engine->kernel)) {
        if (!is_intruder(engine, route))
            continue;
        first = first ? first : route;
        count++;
    }
    engine->intruded = first != NULL;
    if (first)
        tell(first, count, &faults);
    return fault_book_replace(engine->status->faults, "routes", "intruders", &faults,
                              clock_wall_ms());
}
