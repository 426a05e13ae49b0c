// SPDX-License-Identifier: Apache-2.0
/*
 * Pods whose interface and addresses belong to another plugin, behind which agent-cni is chained
 * for egress alone. The engine writes nothing for them. It reports to the store which addresses
 * such a pod has, before the kubelet does (pods_tell.c), so that its Egress applies to its first
 * packet. It also records by which of the node's links the pod is reached, so that ADD returns when
 * the programs are attached.
 *
 * The record has no other purpose, so it is not kept over a restart: the Pod's status has the
 * addresses by then, and CHECK supplies the rest again. A record without a DEL ends with its link.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/pods/pods_engine.h"
#include "engine/pods/pods_state.h"

static bool fits(const struct pod_request *request, const struct pod_attachment *attachment)
{
    return strlen(request->namespace) < sizeof(attachment->namespace) &&
           strlen(request->network) < sizeof(attachment->network) &&
           strlen(request->name) < sizeof(attachment->name) &&
           strlen(request->uid) < sizeof(attachment->uid);
}

static int make_attachment(const struct pod_request *request, struct pod_attachment *attachment)
{
    *attachment = (struct pod_attachment){ .promised_ms = clock_mono_ms() };
    attachment->since_wall_ms = clock_wall_ms();
    int r = pod_interface_name(request->container, request->interface, "default",
                               &attachment->pod_interface);
    if (r < 0 || !fits(request, attachment))
        return -EINVAL;
    attachment->pod_interface.v4 = request->v4;
    attachment->pod_interface.v6 = request->v6;
    snprintf(attachment->namespace, sizeof(attachment->namespace), "%s", request->namespace);
    snprintf(attachment->name, sizeof(attachment->name), "%s", request->name);
    snprintf(attachment->uid, sizeof(attachment->uid), "%s", request->uid);
    snprintf(attachment->network, sizeof(attachment->network), "%s", request->network);
    return 0;
}

enum pod_refusal pods_engine_chain(struct engine *engine, const struct pod_request *request)
{
    struct pods_engine *pods = (struct pods_engine *)engine;
    struct pod_attachment attachment;
    enum pod_refusal refusal = pods_engine_chain_ready(engine);
    if (refusal != POD_GRANTED)
        return refusal;
    if (make_attachment(request, &attachment) < 0)
        return POD_BAD_NAME;
    const struct pod_attachment *known = pods_engine_chained(engine, &attachment.pod_interface);
    if (known && !pods_is_same(known, request))
        return POD_OTHER;
    if (known)
        attachment.since_wall_ms = known->since_wall_ms;
    if (sorted_put(&pods->chained, &attachment) < 0)
        return POD_MEMORY;
    pods->setup.wake(pods->setup.context);
    return POD_GRANTED;
}

enum pod_refusal pods_engine_chain_ready(const struct engine *engine)
{
    const struct pods_engine *pods = (const struct pods_engine *)engine;
    if (!pods->setup.config->egress.enabled)
        return POD_EGRESS_OFF;
    return status_is_known(pods->setup.status) ? POD_GRANTED : POD_EARLY;
}

const struct pod_attachment *pods_engine_chained(const struct engine *engine,
                                                 const struct pod_interface *key)
{
    const struct pods_engine *pods = (const struct pods_engine *)engine;
    return sorted_find(&pods->chained, key);
}

const struct sorted *pods_engine_chain_list(const struct engine *engine)
{
    return &((const struct pods_engine *)engine)->chained;
}

int pods_engine_chain_wired(struct engine *engine, const struct pod_interface *key,
                            uint32_t ifindex)
{
    struct pods_engine *pods = (struct pods_engine *)engine;
    struct pod_attachment *attachment = sorted_find(&pods->chained, key);
    if (!attachment)
        return -ENOENT;
    attachment->ifindex = ifindex;
    attachment->wired = true;
    pods->setup.wake(pods->setup.context);
    return 0;
}

int pods_engine_chain_free(struct engine *engine, const struct pod_interface *key)
{
    struct pods_engine *pods = (struct pods_engine *)engine;
    if (!pods_engine_chained(engine, key))
        return 0;
    sorted_remove(&pods->chained, key);
    return 1;
}

/* Its link is gone, or agent-cni was killed before it reported one. */
static bool is_over(const struct pods_engine *pods, const struct pod_attachment *attachment,
                    int64_t now_ms)
{
    if (attachment->wired && link_find(kernel_links(pods->setup.kernel), attachment->ifindex))
        return false;
    return now_ms - attachment->promised_ms >= (attachment->wired ? PODS_LINK_MS : PODS_PROMISE_MS);
}

void pods_follow_chained(struct pods_engine *pods, int64_t now_ms)
{
    for (size_t i = pods->chained.count; i-- > 0;) {
        const struct pod_attachment attachment =
            *(struct pod_attachment *)sorted_at(&pods->chained, i);
        if (is_over(pods, &attachment, now_ms))
            sorted_remove(&pods->chained, &attachment);
    }
}
