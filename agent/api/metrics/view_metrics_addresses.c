// SPDX-License-Identifier: Apache-2.0
/* Metrics of the addresses that one node of a segment has at a time. */
#include <inttypes.h>

#include "api/claims/claims_live.h"
#include "api/metrics/metric.h"
#include "api/metrics/view_metrics.h"
#include "base/clock.h"
#include "base/macro.h"

/* Of those that are held, the one that was not renewed for longest. */
static int64_t oldest_renewal_ms(const claim_row_list *rows)
{
    int64_t oldest_ms = 0, now_ms = clock_boot_ms();
    vec_each(const struct claim_row, row, rows) {
        if (row->state == CLAIM_HELD && row->renewed_ms)
            oldest_ms = MAX(oldest_ms, now_ms - row->renewed_ms);
    }
    return oldest_ms;
}

static void write_states(const claim_row_list *rows, struct text *out)
{
    static const char name[] = "fingerpost_claimed_addresses";
    uint64_t counts[CLAIM_STATES] = { 0 };
    vec_each(const struct claim_row, row, rows)
        counts[row->state]++;
    metric(out, name, "gauge", "Claimed addresses, by what this node has to do with them.");
    for (size_t i = 0; i < CLAIM_STATES; i++)
        metric_sample(out, name, "state", claim_state_name((enum claim_state)i), counts[i]);
}

void write_claim_metrics(const struct claims_live *live, struct text *out)
{
    AUTOVEC claim_row_list rows = { 0 };
    if (!live || !live->rows)
        return;
    out->failed |= live->rows(live->context, &rows) < 0;
    const struct claim_counts *counts = live->counts;
    write_states(&rows, out);
    metric_seconds(out, "fingerpost_claim_renewal_age_seconds",
                   "Since the held claim that was not renewed for longest was.",
                   oldest_renewal_ms(&rows) * 1000);
    metric(out, "fingerpost_claim_transitions_total", "counter",
           "Claimed addresses that came to this node, and went.");
    metric_sample(out, "fingerpost_claim_transitions_total", "to", "here", counts->gained);
    metric_sample(out, "fingerpost_claim_transitions_total", "to", "away", counts->lost);
    metric_single(out, "fingerpost_claim_conflicts_total", "counter",
                  "Times that another machine said to have an address of ours.", counts->conflicts);
    metric_single(out, "fingerpost_claim_probes_total", "counter",
                  "Questions whether somebody has an address.", counts->probes);
    metric_single(out, "fingerpost_claim_announcements_total", "counter",
                  "Times that an address was said to be here.", counts->announcements);
    metric_single(out, "fingerpost_claim_requests_total", "counter",
                  "Requests about claims to their store.", counts->requests);
    metric_single(out, "fingerpost_claim_request_failures_total", "counter",
                  "Those that were refused, or had no answer.", counts->failures);
}
