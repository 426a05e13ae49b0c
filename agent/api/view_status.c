// SPDX-License-Identifier: Apache-2.0
/*
 * The document Status, and the one word that sums the agent up.
 *
 * Health is derived here and nowhere else, from what the subsystems say of themselves:
 *   failed    nothing can work: the source can't be read, the kernel refuses every route, or a
 * fault of severity "failed" holds; starting  the first complete pass is still to come; degraded
 * something is not as it should be: a fault above a notice holds, wanted and installed differ, no
 *             session of BIRD is up for routes that stand, or NAT does not serve all Services yet;
 *   healthy   none of these.
 * An address that is withheld for want of endpoints is the agent doing its work, not a fault.
 *
 * A source "can't be read" when a fault holds for the source as a whole (its group is "", see
 * source/manifest.h), it has not synced, and no copy on disk stands in for it; a broken file among
 * others has a group of its own.
 */
#include "api/view.h"

#include <string.h>

#include "api/document.h"
#include "api/egress/view_egress.h"
#include "api/nat/view_firewall.h"
#include "api/nat/view_nat_status.h"
#include "api/routes/view_bgp.h"
#include "api/routes/view_routes.h"
#include "api/view_source.h"
#include "base/clock.h"
#include "status/bird_reach.h"

static bool source_unreadable(const struct status *status)
{
    if (status_is_known(status))
        return false;
    for (size_t i = 0; i < fault_book_count(status->faults); i++) {
        const struct known_fault *fault = fault_book_at(status->faults, i);
        if (strcmp(fault->subsystem, status->source.name) == 0 && fault->group[0] == '\0')
            return true;
    }
    return false;
}

const char *view_health(const struct api_state *state)
{
    const struct status *status = state->status;
    const struct route_status *routes = &status->routes;
    const enum fault_severity worst = fault_book_worst(status->faults);

    if (source_unreadable(status))
        return "failed";
    if (!routes->complete)
        return "starting";
    if (worst == FAULT_FAILED || (routes->wanted > 0 && routes->refused >= routes->wanted))
        return "failed";
    if (worst >= FAULT_DEGRADED || status->config_refused ||
        (routes->wanted != routes->installed && !routes->pending) ||
        bird_is_unheard(&status->bird) || (status->nat.enabled && !status->nat.complete))
        return "degraded";
    return "healthy";
}

static const char *phase_name(enum agent_phase phase)
{
    switch (phase) {
    case PHASE_STARTING:
        return "starting";
    case PHASE_RUNNING:
        return "running";
    case PHASE_STOPPING:
        return "stopping";
    }
    return "unknown";
}

static void write_config(struct json *json, const struct status *status)
{
    json_begin_object(json, "config");
    json_string(json, "path", status->config_path);
    json_time(json, "loadedAt", status->config_loaded_wall_ms);
    json_bool(json, "refused", status->config_refused);
    json_end_object(json);
}

/* How many addresses are wanted announced, by whether peers get them. */
static void write_reaches(struct json *json, const struct api_state *state)
{
    uint64_t counts[REACHES] = { 0 };
    const uint64_t blocked = count_reaches(state, counts);
    json_int(json, "announced", (int64_t)state->status->routes.announced - (int64_t)blocked);
    json_int(json, "blockedAddresses", (int64_t)blocked);
    json_begin_object(json, "reach");
    for (enum reach reach = 0; reach < REACHES; reach++)
        json_int(json, reach_name(reach), (int64_t)counts[reach]);
    json_end_object(json);
}

static void write_routes(struct json *json, const struct api_state *state)
{
    const struct route_status *routes = &state->status->routes;
    json_begin_object(json, "routes");
    json_bool(json, "complete", routes->complete);
    json_int(json, "wanted", routes->wanted);
    json_int(json, "installed", routes->installed);
    json_int(json, "foreign", routes->foreign);
    json_int(json, "blocked", routes->blocked);
    json_int(json, "refused", routes->refused);
    write_reaches(json, state);
    json_int(json, "withheld", routes->withheld);
    json_int(json, "held", routes->held);
    json_int(json, "blocks", routes->blocks);
    json_int(json, "added", (int64_t)routes->added);
    json_int(json, "replaced", (int64_t)routes->replaced);
    json_int(json, "deleted", (int64_t)routes->deleted);
    json_int(json, "repairs", (int64_t)routes->repairs);
    json_int(json, "passes", (int64_t)routes->passes);
    json_int(json, "fullPasses", (int64_t)routes->full_passes);
    json_time(json, "lastFullPassAt", routes->last_full_pass_wall_ms);
    json_double(json, "lastFullPassMs", (double)routes->last_full_pass_us / 1000);
    json_end_object(json);
}

static void write_standing(struct json *json, const struct standing_status *standing)
{
    json_begin_object(json, "standing");
    json_string(json, "phase", standing_phase_name(standing->phase));
    json_time(json, "since", standing->since_wall_ms);
    if (standing->ends_mono_ms)
        json_int(json, "endsInMs", MAX(standing->ends_mono_ms - clock_mono_ms(), INT64_C(0)));
    else
        json_null(json, "endsInMs");
    json_string(json, "reason", *standing->reason ? standing->reason : NULL);
    json_bool(json, "nodeGone", standing->node_gone);
    json_end_object(json);
}

/* Services of Consul's agent on this node. */
static void write_consul(struct json *json, const struct consul_status *consul)
{
    if (!consul->enabled) {
        json_null(json, "consul");
        return;
    }
    json_begin_object(json, "consul");
    json_string(json, "address", consul->address);
    json_bool(json, "known", consul->known);
    json_int(json, "wanted", consul->wanted);
    json_int(json, "healthy", consul->healthy);
    json_int(json, "registered", consul->registered);
    json_int(json, "refused", consul->refused);
    json_int(json, "kept", consul->kept);
    json_int(json, "foreign", consul->foreign);
    json_int(json, "pending", consul->pending);
    json_int(json, "registrations", (int64_t)consul->registrations);
    json_int(json, "updates", (int64_t)consul->updates);
    json_int(json, "removals", (int64_t)consul->removals);
    json_int(json, "failures", (int64_t)consul->failures);
    json_time(json, "readAt", consul->read_wall_ms);
    json_string(json, "error", *consul->error ? consul->error : NULL);
    json_end_object(json);
}

void view_status(const struct api_state *state, struct text *out)
{
    const struct status *status = state->status;
    struct json json = view_begin(out, "Status");

    json_string(&json, "node", status->node);
    json_string(&json, "version", status->version);
    json_string(&json, "health", view_health(state));
    json_string(&json, "phase", phase_name(status->phase));
    json_time(&json, "startedAt", status->started_wall_ms);
    json_int(&json, "uptimeSeconds", (clock_mono_ms() - status->started_mono_ms) / SECOND_MS);
    write_config(&json, status);
    json_begin_array(&json, "sources");
    write_source(&json, &status->source, &status->copy, state->store);
    json_end_array(&json);
    write_routes(&json, state);
    write_writes(&json, &status->writes);
    write_standing(&json, &status->standing);
    write_bgp(&json, &status->bird);
    write_consul(&json, &status->consul);
    json_begin_object(&json, "services");
    json_bool(&json, "enabled", status->nat.enabled);
    json_int(&json, "count", (int64_t)store_count(state->store, KIND_SERVICE));
    json_end_object(&json);
    write_nat_status(&json, state);
    write_firewall(&json, &status->firewall);
    write_egress_status(&json, state);
    write_known_faults(&json, "faults", status->faults);
    view_end(&json);
}
