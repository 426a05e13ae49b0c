// SPDX-License-Identifier: Apache-2.0
/*
 * The faults for want of room; see nat_pressure.h.
 *
 * The programs count what they refuse ("pressure" in bpf/abi.h), and write down the last packet
 * that found no source port, by Service ("refusals"): as its tuple would have been towards the
 * endpoint, so that the endpoint can be named.
 */
#include "engine/nat/nat_pressure.h"

#include "apply/nat/plane.h"
#include "base/clock.h"
#include "engine/nat/nat_state.h"

enum { KEPT_MS = 10 * SECOND_MS };

/* Notes that more were refused. Returns whether there is a fault. */
static bool is_pressed(uint64_t refused, uint64_t *last, int64_t *last_ms, int64_t now_ms)
{
    if (refused != *last)
        *last_ms = now_ms;
    *last = refused;
    return *last_ms && now_ms - *last_ms < KEPT_MS;
}

/* The last flow that found no source port; NULL: none is known. */
static const struct nat_refusal *last_exhausted(const nat_refusal_list *refusals)
{
    const struct nat_refusal *last = NULL;
    vec_each(const struct nat_refusal, it, refusals) {
        if (it->cause == NAT_CAUSE_SNAT_EXHAUSTED &&
            (!last || it->last.mono_ms > last->last.mono_ms))
            last = it;
    }
    return last;
}

static void report_ports(struct nat_engine *engine, struct faults *faults)
{
    AUTOVEC nat_refusal_list refusals = { 0 };
    const struct nat_refusal *last = NULL;
    char endpoint[IP_STRLEN] = "an endpoint";
    if (nat_plane_refusals(engine->plane, &refusals) == 0)
        last = last_exhausted(&refusals);
    if (last)
        ip_str(&last->last.destination, endpoint);
    faults_add(faults, "services.snatPorts",
               "give the Service more endpoints, or widen services.snatPorts",
               "new connections to %s port %u are refused: each source port has one that lives",
               endpoint, last ? last->last.destination_port : 0);
}

void nat_pressure_report(struct nat_engine *engine, int64_t now_ms)
{
    struct nat_pressure_watch *watch = &engine->pressure;
    const struct nat_pressure *pressure = &engine->status->nat.pressure;
    AUTOFAULTS struct faults faults = { 0 };
    if (!watch->looked)
        *watch = (struct nat_pressure_watch){ true, pressure->flows_refused,
                                              pressure->ports_refused, 0, 0 };
    if (is_pressed(pressure->flows_refused, &watch->flows_refused, &watch->flows_ms, now_ms))
        faults_add(&faults, "services.maps.flows", "raise services.maps.flows in agentd.yaml",
                   "new connections are refused: the table is full of flows that live");
    if (is_pressed(pressure->ports_refused, &watch->ports_refused, &watch->ports_ms, now_ms))
        report_ports(engine, &faults);
    nat_state_report(engine, "room", &faults);
}
