// SPDX-License-Identifier: Apache-2.0
/*
 * The document Diff: what the next full pass would do to the kernel, computed as it would compute
 * it (the same lists, the same merge walk) and not carried out. Between passes it is empty; what
 * stays in it is what the kernel refuses or what a foreign route stands in the way of. Both have a
 * fault of their own in the group "PREFIX table N" (engine/routes/failed_routes.h), whose words are
 * then the reason.
 *
 * "nat" has what a Verification finds in the live maps and hooks; it counts like the rest.
 *
 * Foreign routes are reported and are no difference: nothing is wrong with them, and nothing will
 * be done to them. As in the real pass nothing is deleted before the source has synced.
 */
#include "api/view.h"

#include <stdio.h>
#include <string.h>

#include "api/document.h"
#include "api/nat/view_nat_status.h"
#include "api/routes/view_routes.h"
#include "plan/routes/route_list.h"

struct differences {
    struct route_diff routes;
    rule_op_list rules;
};

static void differences_done(struct differences *differences)
{
    route_diff_done(&differences->routes);
    vec_done(&differences->rules);
}

static int compare(const struct api_state *state, struct differences *ret)
{
    AUTOVEC route_list routes = { 0 };
    AUTOVEC rule_list rules = { 0 };
    const bool may_remove = state->status->source.synced;

    int r = plan_route_list(state->config, state->plan, &routes);
    if (r < 0)
        return r;
    r = plan_rule_list(state->plan, &rules);
    if (r < 0)
        return r;
    r = diff_routes(routes.items, routes.count, (const struct route *)state->installed->items,
                    state->installed->count, state->config->routes.table, may_remove, &ret->routes);
    if (r < 0)
        return r;
    return diff_rules(rules.items, rules.count, (const struct rule *)state->rules->items,
                      state->rules->count, may_remove, &ret->rules);
}

static const char *op_name(enum op_kind kind)
{
    switch (kind) {
    case OP_ADD:
        return "add";
    case OP_REPLACE:
        return "replace";
    case OP_DELETE:
        return "delete";
    }
    return "unknown";
}

static const char *op_reason(enum op_kind kind)
{
    switch (kind) {
    case OP_ADD:
        return "wanted, not in the kernel";
    case OP_REPLACE:
        return "in the kernel with another meaning";
    case OP_DELETE:
        return "in the kernel, no longer wanted";
    }
    return "unknown";
}

/* What the fault of a route's slot says, or `otherwise`. */
static const char *failed_route(const struct api_state *state, const struct route *route,
                                const char *otherwise)
{
    char prefix[PREFIX_STRLEN], group[PREFIX_STRLEN + 24];

    (void)snprintf(group, sizeof(group), "%s table %u", prefix_str(&route->prefix, prefix),
                   route->table);
    const struct known_fault *fault = fault_book_find(state->status->faults, "routes", group);
    return fault ? fault->message : otherwise;
}

static void write_item(struct json *json, const char *change, uint32_t table, const char *entry,
                       const char *reason)
{
    json_begin_object(json, NULL);
    json_string(json, "change", change);
    json_int(json, "table", table);
    json_string(json, "entry", entry);
    json_string(json, "reason", reason);
    json_end_object(json);
}

static void write_routes(struct json *json, const struct api_state *state,
                         const struct route_diff *diff)
{
    char entry[ROUTE_STRLEN];

    vec_each(const struct route_op, op, &diff->ops)
        write_item(json, op_name(op->kind), op->route.table, route_entry(state, &op->route, entry),
                   failed_route(state, &op->route, op_reason(op->kind)));
    vec_each(const struct route, route, &diff->blocked)
        write_item(json, "blocked", route->table, route_entry(state, route, entry),
                   failed_route(state, route, "a foreign route stands in its place"));
}

static void write_rules(struct json *json, const rule_op_list *ops)
{
    char entry[ROUTE_STRLEN];

    vec_each(const struct rule_op, op, ops)
        write_item(json, op_name(op->kind), op->rule.table, rule_str(&op->rule, entry),
                   op_reason(op->kind));
}

static void write_foreign(struct json *json, const struct api_state *state,
                          const struct route_diff *diff)
{
    char entry[ROUTE_STRLEN], reason[64];

    vec_each(const struct route, route, &diff->foreign) {
        (void)snprintf(reason, sizeof(reason), "not ours (protocol %u), left alone",
                       route->protocol);
        write_item(json, "foreign", route->table, route_entry(state, route, entry), reason);
    }
}

void view_diff(const struct api_state *state, struct text *out)
{
    CLEANUP(differences_done) struct differences found = { 0 };

    if (compare(state, &found) < 0) {
        out->failed = true;
        return;
    }
    struct json json = view_begin(out, "Diff");
    json_begin_array(&json, "items");
    write_routes(&json, state, &found.routes);
    write_rules(&json, &found.rules);
    write_foreign(&json, state, &found.routes);
    json_end_array(&json);
    const size_t nat = write_nat_differences(&json, "nat", state);
    json_int(
        &json, "differences",
        (int64_t)(found.routes.ops.count + found.routes.blocked.count + found.rules.count + nat));
    json_int(&json, "foreign", (int64_t)found.routes.foreign.count);
    view_end(&json);
}
