// SPDX-License-Identifier: Apache-2.0
/*
 * Writes to the store which addresses pods have been assigned. The kubelet writes them to the Pod's
 * status after ADD is over; but by then the pod has sent its first packets, and the egress of its
 * annotations, which is planned by addresses, has to apply to them. Called before each pass, so
 * that no engine sees a Pod without its addresses because a version from the API does not have them
 * yet.
 */
#include <string.h>

#include "base/macro.h"
#include "engine/pods/pods_engine.h"
#include "engine/pods/pods_state.h"
#include "model/pod.h"
#include "store/give.h"

static const struct pod *pod_of(const struct store *store, const struct pod_attachment *attachment)
{
    const struct object *object =
        *attachment->name ? store_get(store, KIND_POD, attachment->namespace, attachment->name)
                          : NULL;
    return object ? to_pod(object) : NULL;
}

static bool has_ip(const struct pod *pod, const struct ip *ip)
{
    for (uint32_t i = 0; i < pod->ip_count; i++) {
        if (ip_equal(&pod->ips[i], ip))
            return true;
    }
    return ip->family == IP_NONE;
}

static bool has_all(const struct pod *pod, const struct pod_attachment *attachment)
{
    return has_ip(pod, &attachment->pod_interface.v4) && has_ip(pod, &attachment->pod_interface.v6);
}

static bool is_same_pod(const struct pod_attachment *a, const struct pod_attachment *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->namespace, b->namespace) == 0;
}

/* Over all interfaces of the pod: an earlier sandbox of it may still exist. */
static int gather(const struct sorted *attachments, const struct pod_attachment *of, ip_list *ips)
{
    sorted_each(const struct pod_attachment, attachment, attachments) {
        const struct ip *const own[] = { &attachment->pod_interface.v4,
                                         &attachment->pod_interface.v6 };
        for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
            if (!is_same_pod(attachment, of) || own[i]->family == IP_NONE)
                continue;
            int r = vec_push(ips, *own[i]);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int tell_of(const struct sorted *attachments, struct store *store)
{
    sorted_each(const struct pod_attachment, attachment, attachments) {
        AUTOVEC ip_list ips = { 0 };
        const struct pod *pod = pod_of(store, attachment);
        if (!pod || !pod_owns_addresses(pod) || has_all(pod, attachment))
            continue;
        int r = gather(attachments, attachment, &ips);
        if (r < 0)
            return r;
        r = store_give_pod(store, pod, &ips);
        if (r < 0)
            return r;
    }
    return 0;
}

int pods_engine_tell(struct engine *engine, struct store *store)
{
    const struct pods_engine *pods = (const struct pods_engine *)engine;
    int r = tell_of(&pods->attachments, store);
    return r < 0 ? r : tell_of(&pods->chained, store);
}

bool pods_engine_told(const struct store *store, const struct pod_attachment *attachment)
{
    const struct pod *pod = pod_of(store, attachment);
    return pod && (!pod_owns_addresses(pod) || has_all(pod, attachment));
}
