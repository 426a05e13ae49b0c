// SPDX-License-Identifier: Apache-2.0
/*
 * The document BeaconList: what each Beacon asks for beside what the kernel has, and routes of
 * Beacons that are gone and whose routes may not go yet.
 */
#include "api/document.h"
#include "api/view.h"
#include "plan/beacons.h"

/* `object` is NULL where nobody wants the route any more. */
static void write_beacon(struct json *json, const struct api_state *state,
                         const struct object *object, const struct route *route)
{
    char prefix[PREFIX_STRLEN];
    bool stands = sorted_find(state->installed, route) != NULL;
    json_begin_object(json, NULL);
    if (object)
        json_string(json, "name", object->name);
    else
        json_null(json, "name");
    json_string(json, "prefix", prefix_str(&route->prefix, prefix));
    json_string(json, "state", !object ? "leftover" : stands ? "installed" : "missing");
    json_int(json, "table", route->table);
    json_int(json, "protocol", route->protocol);
    write_reading_place(json, object);
    json_end_object(json);
}

void view_beacons(const struct api_state *state, struct text *out)
{
    AUTOVEC object_list beacons = { 0 };
    AUTOSORTED struct sorted wanted = SORTED(struct route, route_cmp);
    struct json json = view_begin(out, "BeaconList");
    out->failed |= store_list(state->store, KIND_BEACON, &beacons) < 0 ||
                   plan_beacons(state->store, &wanted) < 0;
    json_begin_array(&json, "items");
    vec_each(const struct object *, object, &beacons) {
        const struct route route = beacon_route(to_beacon(*object));
        write_beacon(&json, state, *object, &route);
    }
    sorted_each(const struct route, route, state->installed) {
        if (route->table == BEACON_TABLE && !sorted_find(&wanted, route))
            write_beacon(&json, state, NULL, route);
    }
    json_end_array(&json);
    view_end(&json);
}
