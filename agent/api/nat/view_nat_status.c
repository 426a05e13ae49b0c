// SPDX-License-Identifier: Apache-2.0
/*
 * "nat" of the document Status, and the documents MapList and Verification.
 *
 * Status is asked each second by who watches it, so its map fill is what was counted last; MapList
 * counts now. How much of a map is in use is a number between 0 and 1.
 */
#include "api/nat/view_nat_status.h"

#include <errno.h>
#include <string.h>

#include "api/document.h"
#include "api/refusals.h"
#include "api/view.h"
#include "base/macro.h"

enum { LATEST_REFUSALS = 16 };

static void write_hooks(struct json *json, const char *key, unsigned hooks)
{
    json_begin_array(json, key);
    for (enum nat_hook hook = 0; hook < NAT_HOOKS; hook++)
        if (hooks & 1U << hook)
            json_string(json, NULL, nat_hook_name(hook));
    json_end_array(json);
}

static void write_interfaces(struct json *json, const struct nat_status *nat)
{
    json_begin_array(json, "interfaces");
    vec_each(const struct nat_interface_status, interface, &nat->interfaces) {
        json_begin_object(json, NULL);
        json_string(json, "name", interface->name);
        write_hooks(json, "hooks", interface->attached);
        write_hooks(json, "missing", interface->wanted & ~(unsigned)interface->attached);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_hook_packets(struct json *json, const struct nat_status *nat)
{
    json_begin_object(json, "hookPackets");
    for (enum nat_hook hook = 0; hook < NAT_HOOKS; hook++)
        json_int(json, nat_hook_name(hook), (int64_t)nat->hook_packets[hook]);
    json_end_object(json);
}

/* Where we could not ask for it, somebody else's connection tracking may still do it. */
static void write_defragmentation(struct json *json, const struct nat_status *nat)
{
    json_begin_object(json, "defragmentation");
    json_string(json, "ipv4", nat->defragments[0] ? "on" : "unknown");
    json_string(json, "ipv6", nat->defragments[1] ? "on" : "unknown");
    json_end_object(json);
}

/* The way of masqueraded packets. */
static void write_path(struct json *json, const struct nat_status *nat)
{
    json_begin_object(json, "path");
    json_string(json, "inForce", nat->path);
    json_string(json, "listener", *nat->listener ? nat->listener : NULL);
    json_end_object(json);
}

static void write_flows(struct json *json, const struct nat_status *nat)
{
    json_begin_object(json, "flows");
    json_int(json, "established", (int64_t)nat->established);
    json_begin_object(json, "states");
    for (enum nat_state state = 0; state < NAT_STATES; state++)
        json_int(json, nat_state_name(state), (int64_t)nat->flows[state]);
    json_end_object(json);
    json_int(json, "ended", (int64_t)nat->ended);
    json_int(json, "dropped", (int64_t)nat->pressure.flows_dropped);
    json_int(json, "refused", (int64_t)nat->pressure.flows_refused);
    json_time(json, "lastSweepAt", nat->last_sweep_wall_ms);
    json_double(json, "lastSweepMs", (double)nat->last_sweep_us / 1000);
    json_end_object(json);
}

static void write_source_ports(struct json *json, const struct nat_pressure *pressure)
{
    json_begin_object(json, "sourcePorts");
    json_int(json, "searched", (int64_t)pressure->ports_searched);
    json_int(json, "dropped", (int64_t)pressure->ports_dropped);
    json_int(json, "refused", (int64_t)pressure->ports_refused);
    json_end_object(json);
}

static void write_map_uses(struct json *json, const char *key, const struct nat_map_use *use,
                           size_t count)
{
    json_begin_array(json, key);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(json, NULL);
        json_string(json, "name", use[i].name);
        json_int(json, "entries", (int64_t)use[i].entries);
        json_int(json, "capacity", (int64_t)use[i].capacity);
        json_double(json, "fill",
                    use[i].capacity ? (double)use[i].entries / (double)use[i].capacity : 0);
        json_int(json, "bytes", (int64_t)use[i].bytes);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_refusals(struct json *json, const struct api_state *state)
{
    CLEANUP(refusal_set_done) refusal_set set = { 0 };

    if (refusal_set_load(state, &set) == -ENOMEM)
        json->out->failed = true;
    refusal_set_sort_latest(&set);
    json_begin_array(json, "refusals");
    for (size_t i = 0; i < MIN(set.count, (size_t)LATEST_REFUSALS); i++)
        write_refusal(json, state, &set.items[i]);
    json_end_array(json);
}

void write_nat_status(struct json *json, const struct api_state *state)
{
    const struct nat_status *nat = &state->status->nat;

    json_begin_object(json, "nat");
    json_bool(json, "enabled", nat->enabled);
    json_bool(json, "complete", nat->complete);
    json_string(json, "method", nat->method);
    write_interfaces(json, nat);
    write_hook_packets(json, nat);
    write_path(json, nat);
    write_defragmentation(json, nat);
    json_int(json, "services", nat->services);
    json_int(json, "frontends", nat->frontends);
    json_int(json, "endpoints", nat->endpoints);
    json_int(json, "proved", nat->proved);
    json_int(json, "unproved", nat->unproved);
    json_int(json, "passes", (int64_t)nat->passes);
    json_int(json, "fullPasses", (int64_t)nat->full_passes);
    json_int(json, "writes", (int64_t)nat->writes);
    json_int(json, "repairs", (int64_t)nat->repairs);
    json_time(json, "lastPassAt", nat->last_pass_wall_ms);
    json_double(json, "lastPassMs", (double)nat->last_pass_us / 1000);
    json_time(json, "lastFullPassAt", nat->last_full_pass_wall_ms);
    json_double(json, "lastFullPassMs", (double)nat->last_full_pass_us / 1000);
    write_flows(json, nat);
    write_source_ports(json, &nat->pressure);
    write_map_uses(json, "maps", nat->maps, nat->map_count);
    json_int(json, "bytes", (int64_t)nat_status_bytes(nat));
    write_refusals(json, state);
    json_end_object(json);
}

void view_maps(const struct api_state *state, struct text *out)
{
    struct nat_map_use use[NAT_MAP_COUNT] = { 0 };
    const size_t count = state->live->maps(state->live->context, use);
    struct json json = view_begin(out, "MapList");
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += use[i].bytes;
    write_map_uses(&json, "items", use, count);
    json_int(&json, "bytes", (int64_t)bytes);
    view_end(&json);
}

/* An item that stands for all that could not be compared: it must not look like none. */
static void write_failure(struct json *json, int error)
{
    json_begin_object(json, NULL);
    json_null(json, "service");
    json_stringf(json, "difference", "the live maps could not be compared: %s", strerror(-error));
    json_end_object(json);
}

size_t write_nat_differences(struct json *json, const char *key, const struct api_state *state)
{
    CLEANUP(nat_differences_done) nat_difference_list list = { 0 };

    int r = state->live ? state->live->verify(state->live->context, &list) : 0;
    json_begin_array(json, key);
    if (r < 0)
        write_failure(json, r);
    vec_each(const struct nat_difference, difference, &list) {
        json_begin_object(json, NULL);
        json_string(json, "service", *difference->service ? difference->service : NULL);
        json_string(json, "difference", difference->text);
        json_end_object(json);
    }
    json_end_array(json);
    return list.count + (r < 0);
}

void view_verify(const struct api_state *state, struct text *out)
{
    struct json json = view_begin(out, "Verification");
    size_t differences = write_nat_differences(&json, "items", state);

    json_int(&json, "differences", (int64_t)differences);
    json_int(&json, "services", (int64_t)state->nat->count);
    view_end(&json);
}
