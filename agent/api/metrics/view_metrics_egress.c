// SPDX-License-Identifier: Apache-2.0
/*
 * The metrics of egress: on clients' nodes what gateways were sent, on a gateway its clients, flows
 * and blocks of source ports, and on both what was dropped or answered.
 * coil_egress_client_pod_count has Coil's name, since it means the same.
 */
#include <inttypes.h>
#include <string.h>

#include "api/metrics/metric.h"
#include "api/metrics/view_metrics.h"
#include "base/macro.h"
#include "plan/egress/egress_names.h"

static void write_sent(const struct api_state *state, struct text *out)
{
    static const char name[] = "fingerpost_egress_gateway_packets_total";
    const struct egress_live *live = state->egress_live;
    char address[IP_STRLEN];
    metric(out, name, "counter", "Packets of this node's pods that a gateway was sent.");
    sorted_each(struct egress_set *const, it, &state->egress->sets) {
        const struct egress_set *set = *it;
        vec_each(const struct egress_gateway, gateway, &set->gateways) {
            text_addf(out, "%s{", name);
            metric_label(out, "egress", set->egress);
            text_add_char(out, ',');
            metric_label(out, "gateway", ip_str(&gateway->address, address));
            text_addf(out, "} %" PRIu64 "\n",
                      live->sent(live->context, set->egress, &gateway->address));
        }
    }
}

static void write_refused(const struct api_state *state, struct text *out)
{
    static const char name[] = "fingerpost_egress_refused_total";
    const struct egress_live *live = state->egress_live;
    struct egress_refusal refusals[EGRESS_CAUSE_COUNT];
    metric(out, name, "counter", "Packets that egress dropped or answered, by side and reason.");
    for (enum egress_side side = 0; side < EGRESS_SIDES; side++) {
        size_t count = live->refusals(live->context, side, refusals);
        for (size_t i = 0; i < count; i++) {
            text_addf(out, "%s{", name);
            metric_label(out, "side", egress_side_name(side));
            text_add_char(out, ',');
            metric_label(out, "reason", egress_cause_name(refusals[i].cause));
            text_addf(out, "} %" PRIu64 "\n", refusals[i].count);
        }
    }
}

static int pod_cmp(const void *a, const void *b)
{
    const struct egress_client *left = *(const struct egress_client *const *)a;
    const struct egress_client *right = *(const struct egress_client *const *)b;
    int r = strcmp(left->namespace, right->namespace);
    return r ? r : strcmp(left->name, right->name);
}

/* Pods, each counted once, whatever addresses it has. */
static uint64_t count_pods(const struct egress_plan *plan, const char *egress, struct text *out)
{
    VEC(const struct egress_client *) pods = { 0 };
    uint64_t count = 0;
    sorted_each(struct egress_client *const, client, &plan->clients) {
        if (egress_list_has((*client)->egresses, egress) &&
            vec_push(&pods, (const struct egress_client *)*client) < 0)
            out->failed = true;
    }
    vec_sort(&pods, pod_cmp);
    for (size_t i = 0; i < pods.count; i++)
        count += i == 0 || pod_cmp(&pods.items[i - 1], &pods.items[i]) != 0;
    vec_done(&pods);
    return count;
}

static void write_pods(const struct api_state *state, struct text *out)
{
    static const char name[] = "coil_egress_client_pod_count";
    const char *served = state->egress->served ? state->egress->served : "";
    struct egress_item item;
    metric(out, name, "gauge", "Client pods of an Egress that this gateway serves.");
    while (egress_list_next(&served, &item)) {
        AUTOTEXT struct text egress = { 0 };
        text_addf(&egress, "%s/%s", item.namespace, item.name);
        text_addf(out, "%s{", name);
        metric_label(out, "namespace", item.namespace);
        text_add_char(out, ',');
        metric_label(out, "egress", item.name);
        text_addf(out, "} %" PRIu64 "\n", count_pods(state->egress, text_str(&egress), out));
    }
}

static void write_gateway(const struct api_state *state, struct text *out)
{
    struct egress_gateway_use use;
    if (!state->egress_live->gateway(state->egress_live->context, &use))
        return;
    write_pods(state, out);
    metric_single(out, "fingerpost_egress_flows", "gauge",
                  "Flows of the gateway, at the last round of the sweep.", use.flows);
    metric_single(out, "fingerpost_egress_port_blocks", "gauge",
                  "Blocks of source ports that the gateway has.", use.blocks);
    metric_single(out, "fingerpost_egress_port_blocks_used", "gauge",
                  "Blocks of source ports that clients have.", use.blocks_used);
    metric_single(out, "fingerpost_egress_longest_port_search", "gauge",
                  "Source ports that were tried for one flow, at most.", use.longest_search);
}

void write_egress_metrics(const struct api_state *state, struct text *out)
{
    if (!state->egress || !state->egress_live)
        return;
    write_sent(state, out);
    write_gateway(state, out);
    write_refused(state, out);
}
