// SPDX-License-Identifier: Apache-2.0
/*
 * Pods that wait for an address: the blocks of their pool on this node have no free address. Their
 * runtime retries again and again, and the kubelet reports it at the pod; here it is a fault of the
 * pool, until an address is free or no runtime retries any more. Where a controller allocates
 * blocks on demand, another block is usually there in a moment, so the fault is reported later.
 */
#include "base/clock.h"
#include "base/macro.h"
#include "base/text.h"
#include "engine/pods/pods_state.h"
#include "faults/pods.h"
#include "faults/raise.h"

enum { MANIFESTS_GRACE_MS = 500, CLUSTER_GRACE_MS = 5 * 1000, ASKS_AGAIN_MS = 30 * 1000 };

static int64_t grace_ms(const struct pods_engine *pods)
{
    return pods->setup.config->source.kubernetes ? CLUSTER_GRACE_MS : MANIFESTS_GRACE_MS;
}

static void tell(const struct pods_engine *pods, const struct pod_wait *wait, struct faults *faults)
{
    AUTOFREE char *place = text_format("pool %s", wait->pool);
    fault_raise(faults, place, pod_no_free_address, .node = pods->setup.config->node);
}

int pods_follow_waits(struct pods_engine *pods, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOVEC pod_pool_list pools = { 0 };
    pods->waits_ms = INT64_MAX;
    int r = pods->waits.count ? plan_pod_pools(&pods->addresses, &pools) : 0;
    if (r < 0)
        return r;
    vec_each(const struct pod_wait, wait, &pods->waits) {
        const int64_t told_ms = wait->since_ms + grace_ms(pods),
                      over_ms = wait->asked_ms + ASKS_AGAIN_MS;
        if (now_ms >= over_ms || pod_pool_named(&pools, wait->pool).free > 0)
            continue;
        if (now_ms >= told_ms)
            tell(pods, wait, &faults);
        pods->waits_ms = MIN(pods->waits_ms, now_ms >= told_ms ? over_ms : told_ms);
    }
    pods_report(pods, "waits", &faults);
    return 0;
}
