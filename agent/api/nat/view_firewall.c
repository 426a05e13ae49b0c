// SPDX-License-Identifier: Apache-2.0
/* What is told of our table of nftables: in Status, and as metrics. */
#include "api/nat/view_firewall.h"

#include <string.h>

#include "api/metrics/metric.h"
#include "api/metrics/view_metrics.h"

void write_firewall(struct json *json, const struct firewall_status *firewall)
{
    json_begin_object(json, "firewall");
    json_string(json, "mode", firewall->mode ? firewall->mode : "off");
    json_bool(json, "there", firewall->there);
    json_int(json, "openings", firewall->openings);
    json_int(json, "closedAddresses", firewall->closed);
    json_int(json, "added", (int64_t)firewall->added);
    json_int(json, "removed", (int64_t)firewall->removed);
    json_int(json, "replaced", (int64_t)firewall->replaced);
    json_int(json, "repairs", (int64_t)firewall->repairs);
    json_int(json, "openedPackets", (int64_t)firewall->opened_packets);
    json_int(json, "closedPackets", (int64_t)firewall->closed_packets);
    json_end_object(json);
}

void write_firewall_metrics(const struct firewall_status *firewall, struct text *out)
{
    if (!firewall->mode || strcmp(firewall->mode, "off") == 0)
        return;
    metric_single(out, "fingerpost_firewall_openings", "gauge",
                  "Addresses with protocol and port that nftables has as opened.",
                  firewall->openings);
    metric_single(out, "fingerpost_firewall_closed_addresses", "gauge",
                  "Addresses of Services whose other ports nftables drops.", firewall->closed);
    metric(out, "fingerpost_firewall_changes_total", "counter", "Openings that came and went.");
    metric_sample(out, "fingerpost_firewall_changes_total", "op", "add", firewall->added);
    metric_sample(out, "fingerpost_firewall_changes_total", "op", "remove", firewall->removed);
    metric_single(out, "fingerpost_firewall_replaced_total", "counter",
                  "Tables of nftables that were made anew.", firewall->replaced);
    metric_single(out, "fingerpost_firewall_repairs_total", "counter",
                  "Changes of the table by somebody else that were undone.", firewall->repairs);
    metric(out, "fingerpost_firewall_packets_total", "counter",
           "Packets that the table's rules have met, since it was made.");
    metric_sample(out, "fingerpost_firewall_packets_total", "act", "opened",
                  firewall->opened_packets);
    metric_sample(out, "fingerpost_firewall_packets_total", "act", "closed",
                  firewall->closed_packets);
}
