// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics of pods' addresses: how full this node's blocks and pools are, what it asks for, and how
 * long it takes to serve a pod.
 */
#include "api/metrics/view_metrics.h"

#include <inttypes.h>

#include "api/metrics/metric.h"
#include "api/pods/pods_live.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "plan/pods/pod_attachment.h"
#include "plan/pods/pod_pools.h"

static void write_use(struct text *out, const char *name, const char *label, const char *value,
                      uint64_t used, uint64_t free)
{
    const char *const states[] = { "used", "free" };
    const uint64_t counts[] = { used, free };
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        text_addf(out, "%s{", name);
        metric_label(out, label, value);
        text_addf(out, ",state=\"%s\"} %" PRIu64 "\n", states[i], counts[i]);
    }
}

static void write_pools(const struct pods_live *live, struct text *out)
{
    static const char pools_name[] = "fingerpost_pod_pool_addresses",
                      blocks_name[] = "fingerpost_pod_block_addresses";
    AUTOVEC pod_pool_list pools = { 0 };
    out->failed |= plan_pod_pools(live->addresses, &pools) < 0;
    metric(out, pools_name, "gauge", "Addresses of pools in this node's blocks.");
    vec_each(const struct pod_pool, pool, &pools)
        write_use(out, pools_name, "pool", pool->name, pool->used, pool->free);
    metric(out, blocks_name, "gauge", "Addresses of this node's blocks.");
    sorted_each(const struct pod_block, block, &live->addresses->blocks) {
        uint32_t used = pod_block_used(live->addresses, block);
        write_use(out, blocks_name, "block", block->name, used, pod_block_size(block) - used);
    }
}

/* Those of pods that no block of this node has, or that nothing tells. */
static uint64_t count_outside(const struct pods_live *live)
{
    uint64_t count = 0;
    sorted_each(const struct pod_attachment, attachment, live->attachments) {
        const struct ip *ip = attachment->pod_interface.v4.family != IP_NONE
                                  ? &attachment->pod_interface.v4
                                  : &attachment->pod_interface.v6;
        count += ip->family == IP_NONE || !pod_block_at(live->addresses, ip);
    }
    return count;
}

static void write_shadowed(const struct pods_live *live, struct text *out)
{
    static const char name[] = "fingerpost_pod_addresses_astray";
    metric(out, name, "gauge",
           "Addresses of blocks that a route leads to and no pod is known of; pods whose address "
           "is in no block. Each is a fault.");
    text_addf(out, "%s{kind=\"unknown\"} %zu\n", name, live->addresses->unowned.count);
    text_addf(out, "%s{kind=\"outside\"} %" PRIu64 "\n", name, count_outside(live));
}

static void write_asks(const struct pods_live *live, struct text *out)
{
    const struct block_ask *ask;
    uint64_t pending = 0, exhausted = 0;
    for (size_t i = 0; (ask = live->ask(live->context, i)); i++) {
        pending += block_ask_pending(ask);
        exhausted += ask->exhausted;
    }
    metric_single(out, "fingerpost_block_requests_pending", "gauge",
                  "BlockRequests of this node that are not answered, or whose block is not here.",
                  pending);
    metric_single(out, "fingerpost_pod_pools_exhausted", "gauge",
                  "Pools that had no block left when this node asked last.", exhausted);
}

void write_pod_metrics(const struct pods_live *live, struct text *out)
{
    if (!live)
        return;
    metric_single(out, "fingerpost_pods", "gauge", "Interfaces of pods that have addresses.",
                  live->attachments->count);
    write_pools(live, out);
    write_shadowed(live, out);
    write_asks(live, out);
    metric_histogram(out, "fingerpost_pod_add_duration_seconds",
                     "From a pod's addresses until it is served.", live->adds, &histogram_sync);
}
