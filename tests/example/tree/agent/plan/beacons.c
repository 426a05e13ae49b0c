// SPDX-License-Identifier: Apache-2.0
/* Plans the routes of Beacons; see beacons.h. Two Beacons of one network have one route. */
#include "plan/beacons.h"

#include <errno.h>
#include <linux/rtnetlink.h>

struct route beacon_route(const struct beacon *beacon)
{
    return (struct route){
        .table = BEACON_TABLE,
        .prefix = beacon->prefix,
        .metric = beacon->prefix.ip.family == IP_V6 ? ROUTE_METRIC_V6 : ROUTE_METRIC_V4,
        .protocol = BEACON_PROTOCOL,
        .type = RTN_BLACKHOLE,
    };
}

int plan_beacons(const struct store *store, struct sorted *routes)
{
    AUTOVEC object_list beacons = { 0 };
    int r = store_list(store, KIND_BEACON, &beacons);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &beacons) {
        const struct route route = beacon_route(to_beacon(*object));
        r = sorted_put(routes, &route);
        if (r < 0)
            return r;
    }
    return 0;
}

int diff_beacons(const struct sorted *wanted, const struct sorted *there, bool may_remove,
                 beacon_ops *ops)
{
    sorted_each(const struct route, route, wanted) {
        if (!sorted_find(there, route) && vec_push(ops, (struct route_op){ OP_ADD, *route }) < 0)
            return -ENOMEM;
    }
    sorted_each(const struct route, route, there) {
        if (!may_remove || route->table != BEACON_TABLE || sorted_find(wanted, route))
            continue;
        if (vec_push(ops, (struct route_op){ OP_DELETE, *route }) < 0)
            return -ENOMEM;
    }
    return 0;
}
