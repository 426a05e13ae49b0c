// SPDX-License-Identifier: Apache-2.0
/*
 * The document Plan: the kernel tables that a plan asks for, in the words of `ip route` and
 * `ip rule`, every address with its reason, what NAT serves, and egress. Written without a daemon
 * by `agentctl plan`, so it uses nothing of the state but plan and configuration.
 *
 * The faults are those of one reading of the objects: they have no history, so "since" is null.
 */
#include "api/view.h"

#include "api/document.h"
#include "api/egress/view_egress.h"
#include "api/export/view_exports.h"
#include "api/nat/view_nat.h"
#include "api/pools/view_assignments.h"
#include "api/routes/view_routes.h"
#include "plan/routes/route_list.h"

static void write_routes(struct json *json, const struct api_state *state, const route_list *routes)
{
    char entry[ROUTE_STRLEN];

    json_begin_array(json, "routes");
    vec_each(const struct route, route, routes) {
        json_begin_object(json, NULL);
        json_int(json, "table", route->table);
        json_string(json, "entry", route_entry(state, route, entry));
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_rules(struct json *json, const rule_list *rules)
{
    char entry[ROUTE_STRLEN];

    json_begin_array(json, "rules");
    vec_each(const struct rule, rule, rules)
        json_string(json, NULL, rule_str(rule, entry));
    json_end_array(json);
}

static void write_faults(struct json *json, const struct faults *faults)
{
    json_begin_array(json, "faults");
    vec_each(const struct fault, fault, &faults->list)
        write_fault(json, "plan", "", fault, 0, NULL);
    if (faults->incomplete) {
        const struct fault lost = { .place = (char *)"faults",
                                    .message = (char *)"memory ran out: the list is incomplete" };
        write_fault(json, "plan", "", &lost, 0, NULL);
    }
    json_end_array(json);
}

void view_plan(const struct api_state *state, const struct faults *faults, struct text *out)
{
    AUTOVEC route_list routes = { 0 };
    AUTOVEC rule_list rules = { 0 };

    if (plan_route_list(state->config, state->plan, &routes) < 0 ||
        plan_rule_list(state->plan, &rules) < 0) {
        out->failed = true;
        return;
    }
    struct json json = view_begin(out, "Plan");
    json_string(&json, "node", state->config->node);
    write_routes(&json, state, &routes);
    write_rules(&json, &rules);
    json_begin_array(&json, "addresses");
    for (size_t i = 0; i < state->plan->addresses.count; i++)
        write_address_route(&json, NULL, state, address_row_at(state->plan, i));
    json_end_array(&json);
    write_assignments(&json, state);
    write_nat(&json, state->nat);
    write_egress(&json, state->config, state->egress);
    write_planned_exports(&json, state->exports);
    write_faults(&json, faults);
    view_end(&json);
}
