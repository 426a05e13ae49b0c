// SPDX-License-Identifier: Apache-2.0
/*
 * The metrics of service NAT: its own, and those of kube-proxy that mean the same here, so that
 * dashboards and alerts made for it stay.
 *
 * kube-proxy's "..._no_local_endpoints_total" is a gauge in spite of its name. A gauge may not be
 * called so (promtool says), and it is no counter: it has no type here, which says nothing wrong.
 *
 * A Service's numbers are read from the maps at each scrape, four series a Service. Map fill is
 * what was counted last, since counting walks.
 */
#include "api/view.h"

#include <errno.h>
#include <inttypes.h>

#include "api/metrics/metric.h"
#include "api/metrics/view_metrics.h"
#include "api/nat/view_nat.h"
#include "api/refusals.h"
#include "base/clock.h"

static void write_maps(const struct nat_status *nat, struct text *out)
{
    metric(out, "fingerpost_nat_map_entries", "gauge", "Entries of a BPF map that are in use.");
    for (size_t i = 0; i < nat->map_count; i++)
        metric_sample(out, "fingerpost_nat_map_entries", "map", nat->maps[i].name,
                      nat->maps[i].entries);
    metric(out, "fingerpost_nat_map_capacity", "gauge", "Entries that a BPF map has room for.");
    for (size_t i = 0; i < nat->map_count; i++)
        metric_sample(out, "fingerpost_nat_map_capacity", "map", nat->maps[i].name,
                      nat->maps[i].capacity);
    metric(out, "fingerpost_nat_map_bytes", "gauge", "Memory of a BPF map.");
    for (size_t i = 0; i < nat->map_count; i++)
        metric_sample(out, "fingerpost_nat_map_bytes", "map", nat->maps[i].name,
                      nat->maps[i].bytes);
}

static void write_pressure(const struct nat_pressure *pressure, struct text *out)
{
    metric_single(out, "fingerpost_nat_flows_dropped_total", "counter",
                  "Flows of little worth that gave their place to another.",
                  pressure->flows_dropped);
    metric_single(out, "fingerpost_nat_flows_refused_total", "counter",
                  "New flows for which there was no place.", pressure->flows_refused);
    metric_single(out, "fingerpost_nat_source_ports_searched_total", "counter",
                  "New flows whose first choice of a source port was taken.",
                  pressure->ports_searched);
    metric_single(out, "fingerpost_nat_source_ports_dropped_total", "counter",
                  "Flows of little worth that gave their source port to another.",
                  pressure->ports_dropped);
    metric_single(out, "fingerpost_nat_source_ports_refused_total", "counter",
                  "New flows for which there was no source port.", pressure->ports_refused);
    metric_single(out, "fingerpost_nat_errors_spread_total", "counter",
                  "ICMP errors about no flow of this node that were sent on to the other Nodes.",
                  pressure->errors_spread);
}

/* Which way masqueraded packets go: 1 for the one in force. */
static void write_path(const struct nat_status *nat, struct text *out)
{
    static const char *const paths[] = { "direct", "stack" };

    metric(out, "fingerpost_nat_path", "gauge",
           "Whether masqueraded packets go through the stack, or past it (direct).");
    for (size_t i = 0; nat->path && i < sizeof(paths) / sizeof(*paths); i++)
        metric_sample(out, "fingerpost_nat_path", "path", paths[i],
                      strcmp(nat->path, paths[i]) == 0);
}

static void write_hooks(const struct nat_status *nat, struct text *out)
{
    uint64_t attached = 0, missing = 0;

    vec_each(const struct nat_interface_status, interface, &nat->interfaces) {
        attached += (uint64_t)__builtin_popcount(interface->attached);
        missing += (uint64_t)__builtin_popcount(interface->wanted & ~(unsigned)interface->attached);
    }
    metric(out, "fingerpost_nat_hooks", "gauge",
           "Places on interfaces that hold a program of the agent, or lack it.");
    metric_sample(out, "fingerpost_nat_hooks", "state", "attached", attached);
    metric_sample(out, "fingerpost_nat_hooks", "state", "missing", missing);
    metric(out, "fingerpost_nat_hook_packets_total", "counter",
           "Packets that the programs at a kind of hook have seen.");
    for (enum nat_hook hook = 0; hook < NAT_HOOKS; hook++)
        metric_sample(out, "fingerpost_nat_hook_packets_total", "hook", nat_hook_name(hook),
                      nat->hook_packets[hook]);
}

static void write_state(const struct nat_status *nat, struct text *out)
{
    metric_single(out, "fingerpost_nat_services", "gauge", "Services that NAT serves.",
                  nat->services);
    metric_single(out, "fingerpost_nat_frontends", "gauge",
                  "Addresses with port and protocol that NAT serves.", nat->frontends);
    metric_single(out, "fingerpost_nat_endpoints", "gauge",
                  "Endpoints of all ports of all Services.", nat->endpoints);
    metric(out, "fingerpost_nat_addresses", "gauge",
           "Addresses, by whether packets through the live maps are answered as planned.");
    metric_sample(out, "fingerpost_nat_addresses", "state", "proved", nat->proved);
    metric_sample(out, "fingerpost_nat_addresses", "state", "unproved", nat->unproved);
    write_hooks(nat, out);
    write_path(nat, out);
    metric(out, "fingerpost_nat_flows", "gauge", "Flows in the tables.");
    for (enum nat_state state = 0; state < NAT_STATES; state++)
        metric_sample(out, "fingerpost_nat_flows", "state", nat_state_name(state),
                      nat->flows[state]);
    write_pressure(&nat->pressure, out);
    metric_single(out, "fingerpost_nat_flows_ended_total", "counter",
                  "Flows that the sweep took out of the tables.", nat->ended);
    metric_single(out, "fingerpost_nat_writes_total", "counter", "Services written to the maps.",
                  nat->writes);
    metric_single(out, "fingerpost_nat_repairs_total", "counter",
                  "Operations on maps and hooks that undid someone else's change.", nat->repairs);
    metric_single(out, "fingerpost_nat_passes_total", "counter", "Passes, full ones included.",
                  nat->passes);
    metric_single(out, "fingerpost_nat_full_passes_total", "counter",
                  "Passes that compared everything.", nat->full_passes);
    metric_seconds(out, "fingerpost_nat_full_pass_seconds", "Duration of the last full pass.",
                   nat->last_full_pass_us);
}

/* The totals are as new as the last list that was read (nat_live.refusals), so one is read. */
static void write_refused(const struct api_state *state, struct text *out)
{
    CLEANUP(refusal_set_done) refusal_set set = { 0 };

    if (refusal_set_load(state, &set) == -ENOMEM)
        out->failed = true;
    metric(out, "fingerpost_nat_refused_packets_total", "counter",
           "Packets rejected, dropped or let pass for a reason.");
    for (enum nat_cause cause = NAT_CAUSE_NONE + 1; cause < NAT_CAUSE_COUNT; cause++)
        metric_sample(out, "fingerpost_nat_refused_packets_total", "reason", nat_cause_name(cause),
                      state->status->nat.refused.totals[cause]);
}

static void service_sample(struct text *out, const char *name, const struct nat_row *row,
                           uint64_t value)
{
    text_addf(out, "%s{", name);
    metric_label(out, "namespace", row->namespace);
    text_add_char(out, ',');
    metric_label(out, "name", row->name);
    text_addf(out, "} %" PRIu64 "\n", value);
}

struct service_count {
    const struct nat_row *row;
    struct nat_counter counter;
};

typedef VEC(struct service_count) service_counts;

static int count_services(const struct api_state *state, service_counts *counts)
{
    for (size_t i = 0; i < state->nat->count; i++) {
        struct service_count count = { .row = nat_row_at(state->nat, i) };
        if (!state->live->counters(state->live->context, count.row->namespace, count.row->name,
                                   &count.counter))
            continue;
        if (vec_push(counts, count) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* The samples of a family stand together, so the counters are read first. */
static void write_services(const struct api_state *state, struct text *out)
{
    AUTOVEC service_counts counts = { 0 };

    if (count_services(state, &counts) < 0)
        out->failed = true;
    metric(out, "fingerpost_nat_service_packets_total", "counter",
           "Translated packets of a Service, both directions.");
    vec_each(const struct service_count, count, &counts)
        service_sample(out, "fingerpost_nat_service_packets_total", count->row,
                       count->counter.packets);
    metric(out, "fingerpost_nat_service_bytes_total", "counter",
           "Translated bytes of a Service, both directions.");
    vec_each(const struct service_count, count, &counts)
        service_sample(out, "fingerpost_nat_service_bytes_total", count->row, count->counter.bytes);
    metric(out, "fingerpost_nat_service_flows_total", "counter", "New flows of a Service.");
    vec_each(const struct service_count, count, &counts)
        service_sample(out, "fingerpost_nat_service_flows_total", count->row, count->counter.flows);
    metric(out, "fingerpost_nat_service_refused_packets_total", "counter",
           "Packets to a Service that were rejected or dropped.");
    vec_each(const struct service_count, count, &counts)
        service_sample(out, "fingerpost_nat_service_refused_packets_total", count->row,
                       count->counter.refused);
}

static bool port_is_dropped(const struct nat_family *family, size_t port_index, bool internal)
{
    const enum nat_origin origin = internal ? NAT_ORIGIN_POD : NAT_ORIGIN_OUTSIDE;

    vec_each(const struct nat_frontend, frontend, &family->frontends) {
        if (frontend->port_index == port_index &&
            (frontend->kind == NAT_FRONTEND_CLUSTER_IP) == internal &&
            frontend->from[origin].cause == NAT_CAUSE_NO_LOCAL)
            return true;
    }
    return false;
}

/* Ports of Services whose policy Local leaves them without endpoints here, though there are some.
 */
static uint64_t count_without_local(const struct sorted *rows, bool internal)
{
    uint64_t count = 0;

    for (size_t i = 0; rows && i < rows->count; i++) {
        const struct nat_row *row = nat_row_at(rows, i);
        for (uint32_t f = 0; f < row->family_count; f++) {
            for (size_t p = 0; p < row->families[f].ports.count; p++)
                count += port_is_dropped(&row->families[f], p, internal);
        }
    }
    return count;
}

static void wall_seconds(struct text *out, const char *name, const char *help, int64_t wall_ms)
{
    metric(out, name, "gauge", help);
    text_addf(out, "%s %" PRId64 ".%03" PRId64 "\n", name, wall_ms / SECOND_MS,
              wall_ms % SECOND_MS);
}

static void write_answers(struct text *out, const char *name, const char *help,
                          const struct health_answers *answers)
{
    metric(out, name, "counter", help);
    metric_sample(out, name, "code", "200", answers->ok);
    metric_sample(out, name, "code", "503", answers->unavailable);
}

static void write_changes(const struct nat_status *nat, struct text *out)
{
    metric_single(out, "kubeproxy_sync_proxy_rules_service_changes_total", "counter",
                  "Changes of Services seen.", nat->service_changes);
    metric_single(out, "kubeproxy_sync_proxy_rules_service_changes_pending", "gauge",
                  "Changes of Services that the maps do not have yet.", nat->service_pending);
    metric_single(out, "kubeproxy_sync_proxy_rules_endpoint_changes_total", "counter",
                  "Changes of EndpointSlices seen.", nat->endpoint_changes);
    metric_single(out, "kubeproxy_sync_proxy_rules_endpoint_changes_pending", "gauge",
                  "Changes of EndpointSlices that the maps do not have yet.",
                  nat->endpoint_pending);
}

static void write_kube_proxy(const struct api_state *state, struct text *out)
{
    static const char no_local[] = "kubeproxy_sync_proxy_rules_no_local_endpoints_total";
    const struct nat_status *nat = &state->status->nat;

    metric_histogram(out, "kubeproxy_sync_proxy_rules_duration_seconds", "Duration of passes.",
                     &nat->syncs, &histogram_sync);
    metric_histogram(out, "kubeproxy_sync_full_proxy_rules_duration_seconds",
                     "Duration of full passes.", &nat->full_syncs, &histogram_sync);
    metric_histogram(out, "kubeproxy_sync_partial_proxy_rules_duration_seconds",
                     "Duration of passes over what has changed.", &nat->part_syncs,
                     &histogram_sync);
    wall_seconds(out, "kubeproxy_sync_proxy_rules_last_timestamp_seconds",
                 "When the last pass ended.", nat->last_pass_wall_ms);
    wall_seconds(out, "kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds",
                 "When a change was last seen.", nat->last_queued_wall_ms);
    metric_histogram(out, "kubeproxy_network_programming_duration_seconds",
                     "From the change of an endpoint in the cluster until the maps have it.",
                     &nat->programming, &histogram_programming);
    write_changes(nat, out);
    metric(out, no_local, "untyped",
           "Service ports with policy Local that have endpoints, but none here.");
    metric_sample(out, no_local, "traffic_policy", "internal",
                  count_without_local(state->nat, true));
    metric_sample(out, no_local, "traffic_policy", "external",
                  count_without_local(state->nat, false));
    write_answers(out, "kubeproxy_proxy_healthz_total", "Answers of /healthz, by HTTP status.",
                  &state->status->health.healthz);
    write_answers(out, "kubeproxy_proxy_livez_total", "Answers of /livez, by HTTP status.",
                  &state->status->health.livez);
}

void write_nat_metrics(const struct api_state *state, struct text *out)
{
    const struct nat_status *nat = &state->status->nat;

    if (!nat->enabled)
        return;
    write_state(nat, out);
    write_maps(nat, out);
    write_refused(state, out);
    if (state->nat && state->live)
        write_services(state, out);
    write_kube_proxy(state, out);
}
