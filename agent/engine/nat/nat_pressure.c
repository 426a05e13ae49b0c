// SPDX-License-Identifier: Apache-2.0
/*
 * Faults of exhausted resources; see nat_pressure.h.
 *
 * The programs count what they refuse ("pressure" in bpf/abi.h), and store the last packet that
 * found no source port, by Service ("refusals"), with its tuple towards the endpoint, so that the
 * endpoint can be named.
 *
 * A fault lasts as long as its cause, and not only while clients send: when none was refused for a
 * while, the maps are searched for room (apply/nat/flows/room.h).
 */
#include "engine/nat/nat_pressure.h"

#include "apply/nat/datapath.h"
#include "apply/nat/flows/room.h"
#include "base/clock.h"
#include "engine/nat/nat_state.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum { KEPT_MS = 10 * SECOND_MS };

/* Notes new refusals. Returns whether none occurred for a while, so that the maps decide whether an
 * existing fault is over. */
static bool is_calm(uint64_t refused, uint64_t *last, int64_t *last_ms, int64_t now_ms)
{
    if (refused != *last)
        *last_ms = now_ms;
    *last = refused;
    return *last_ms && now_ms - *last_ms >= KEPT_MS;
}

/* The last flow that found no source port; NULL: unknown. */
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

static void tell_ports(const struct nat_refusal *last, struct faults *faults)
{
    char endpoint[IP_STRLEN] = "an endpoint";
    if (last)
        ip_str(&last->last.destination, endpoint);
    fault_raise(faults, "services.snatPorts", nat_source_ports_exhausted, .endpoint = endpoint,
                .port = last ? last->last.destination_port : 0);
}

/*
 * Whether a port is available again. The last result holds until the maps have been searched
 * completely.
 */
static bool ports_are_back(struct nat_engine *engine, const struct nat_refusal *last,
                           int64_t now_ms)
{
    struct nat_pressure_watch *watch = &engine->pressure;
    enum nat_room room =
        last ? nat_datapath_find_port(engine->datapath, &last->last, &watch->ports_at)
             : NAT_ROOM_SOME;
    if (room == NAT_ROOM_NOT_KNOWN)
        return false;
    watch->ports_at = 0;
    watch->ports_ms = room == NAT_ROOM_SOME ? 0 : now_ms;
    return room == NAT_ROOM_SOME;
}

static void report_ports(struct nat_engine *engine, uint64_t refused, int64_t now_ms,
                         struct faults *faults)
{
    AUTOVEC nat_refusal_list refusals = { 0 };
    struct nat_pressure_watch *watch = &engine->pressure;
    const bool calm = is_calm(refused, &watch->ports_refused, &watch->ports_ms, now_ms);
    const struct nat_refusal *last = NULL;
    if (!watch->ports_ms)
        return;
    if (!calm)
        watch->ports_at = 0;
    if (nat_datapath_refusals(engine->datapath, &refusals) == 0)
        last = last_exhausted(&refusals);
    if (!calm || !ports_are_back(engine, last, now_ms))
        tell_ports(last, faults);
}

static void report_flows(struct nat_engine *engine, uint64_t refused, int64_t now_ms,
                         struct faults *faults)
{
    struct nat_pressure_watch *watch = &engine->pressure;
    if (is_calm(refused, &watch->flows_refused, &watch->flows_ms, now_ms) &&
        nat_datapath_flows_fit(engine->datapath))
        watch->flows_ms = 0;
    if (watch->flows_ms)
        fault_raise(faults, "services.maps.flows", nat_flows_full);
}

void nat_pressure_report(struct nat_engine *engine, int64_t now_ms)
{
    struct nat_pressure_watch *watch = &engine->pressure;
    const struct nat_pressure *pressure = &engine->status->nat.pressure;
    AUTOFAULTS struct faults faults = { 0 };
    if (!watch->looked)
        *watch = (struct nat_pressure_watch){ .looked = true,
                                              .flows_refused = pressure->flows_refused,
                                              .ports_refused = pressure->ports_refused };
    report_flows(engine, pressure->flows_refused, now_ms, &faults);
    report_ports(engine, pressure->ports_refused, now_ms, &faults);
    nat_state_report(engine, "room", &faults);
}
