// SPDX-License-Identifier: Apache-2.0
/*
 * Interfaces that hold addresses for a Pod that the API does not have: it was force-deleted while
 * its kubelet was away, its runtime failed to end the sandbox, or a person called the plugin by
 * hand. The same holds for the sandbox of a Pod that has got another one since. Such an address is
 * in use and is not assigned to others, so nothing else would report it. It is a fault after
 * pods.goneAfter, which is longer than an ordinary deletion takes.
 *
 * A kubelet deletes the interface before the Pod is removed from the API; after a forced deletion
 * it still waits for the Pod's own grace period. A new Pod is known before the kubelet starts it. A
 * static Pod is reported by its mirror Pod soon after its start; its sandbox has another uid than
 * the mirror, so names count here.
 *
 * Only the present state of the API counts: while Pods are not watched, deletions and additions are
 * unknown, and the time starts again. A fault that was raised stays. A folder of manifests need not
 * have pods at all: no check runs there.
 */
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "engine/pods/pods_state.h"
#include "faults/pods.h"
#include "faults/raise.h"
#include "model/pod.h"

enum { AGAIN_MS = 10 * 1000 }; /* until the API is checked again, where a result depends on it */

static bool are_pods_watched(const struct pods_engine *pods)
{
    const struct source_status *source = &pods->setup.status->source;
    if (!source->synced)
        return false;
    for (size_t i = 0; i < source->kube.count; i++) {
        const struct kube_kind_status *kind = &source->kube.kinds[i];
        if (strcmp(kind->kind, kind_name(KIND_POD)) == 0)
            return kind->state == KUBE_WATCHING && !*kind->error;
    }
    return false;
}

static bool is_there(const struct pod_attachment *attachment)
{
    return attachment->ifindex && attachment->wired;
}

/* Whether the pod has got another sandbox since. */
static bool has_successor(const struct pods_engine *pods, const struct pod_attachment *attachment)
{
    sorted_each(const struct pod_attachment, other, &pods->attachments) {
        if (is_there(other) && other->since_wall_ms > attachment->since_wall_ms &&
            strcmp(other->name, attachment->name) == 0 &&
            strcmp(other->namespace, attachment->namespace) == 0 &&
            strcmp(other->pod_interface.container, attachment->pod_interface.container) != 0)
            return true;
    }
    return false;
}

static bool is_held_by_a_pod(const struct store *store, const struct ip *ip)
{
    size_t count = 0;
    if (ip->family != IP_NONE)
        (void)store_pods_at(store, ip, &count);
    return count > 0;
}

/* Why no Pod has the sandbox; NULL: one has. The arguments are those of pod_unknown. */
static const struct fault_type *why_gone(const struct pods_engine *pods,
                                         const struct pod_attachment *attachment)
{
    const struct store *store = pods->setup.store;
    bool known = *attachment->name
                     ? store_get(store, KIND_POD, attachment->namespace, attachment->name) != NULL
                     : is_held_by_a_pod(store, &attachment->pod_interface.v4) ||
                           is_held_by_a_pod(store, &attachment->pod_interface.v6);
    if (!known)
        return &fault_type_pod_unknown;
    return *attachment->name && has_successor(pods, attachment) ? &fault_type_pod_sandbox_replaced
                                                                : NULL;
}

static bool is_told(const struct pods_engine *pods, const struct pod_attachment *attachment,
                    int64_t now_ms)
{
    return attachment->unknown_ms &&
           now_ms - attachment->unknown_ms >= pods->setup.config->pods.gone_ms;
}

/* Since when no Pod has the sandbox, as of now; 0: one has, or it is unknown. */
static int64_t unknown_since(const struct pods_engine *pods,
                             const struct pod_attachment *attachment, bool watched, int64_t now_ms)
{
    if (!is_there(attachment) || !why_gone(pods, attachment))
        return 0;
    if (!watched)
        return is_told(pods, attachment, now_ms) ? attachment->unknown_ms : 0;
    return attachment->unknown_ms ? attachment->unknown_ms : now_ms;
}

static void tell(const struct pods_engine *pods, const struct pod_attachment *attachment,
                 struct faults *faults)
{
    char v4[IP_STRLEN], v6[IP_STRLEN], pod_interface[POD_INTERFACE_STRLEN];
    bool both = attachment->pod_interface.v4.family != IP_NONE &&
                attachment->pod_interface.v6.family != IP_NONE;
    const struct link *link = link_find(kernel_links(pods->setup.kernel), attachment->ifindex);
    AUTOFREE char *pod = *attachment->name
                             ? text_format("Pod %s/%s", attachment->namespace, attachment->name)
                             : NULL;
    AUTOFREE char *addresses = text_format(
        "%s%s%s",
        attachment->pod_interface.v4.family != IP_NONE ? ip_str(&attachment->pod_interface.v4, v4)
                                                       : "",
        both ? " and " : "",
        attachment->pod_interface.v6.family != IP_NONE ? ip_str(&attachment->pod_interface.v6, v6)
                                                       : "");
    fault_raise_type(
        faults, pod ? pod : pod_interface_str(&attachment->pod_interface, pod_interface),
        why_gone(pods, attachment),
        &(const struct fault_pod_unknown){ .sandbox = attachment->pod_interface.container,
                                           .interface = link ? link->name : "?",
                                           .addresses = addresses });
}

void pods_note_gone(struct pods_engine *pods, const struct change *change)
{
    const struct object *before = change->before, *after = change->after;
    if ((after ? after : before)->kind != KIND_POD)
        return;
    pods->gone_dirty |= !before || !after;
}

void pods_follow_gone(struct pods_engine *pods, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    bool due = pods->gone_dirty || now_ms >= pods->gone_due_ms;
    if (!due || !pods->setup.config->source.kubernetes)
        return;
    pods->gone_dirty = false;
    pods->gone_due_ms = INT64_MAX;
    bool watched = are_pods_watched(pods), waits = false;
    sorted_each(struct pod_attachment, attachment, &pods->attachments) {
        attachment->unknown_ms = unknown_since(pods, attachment, watched, now_ms);
        if (is_told(pods, attachment, now_ms))
            tell(pods, attachment, &faults);
        else if (attachment->unknown_ms)
            pods->gone_due_ms =
                MIN(pods->gone_due_ms, attachment->unknown_ms + pods->setup.config->pods.gone_ms);
        waits |= !watched && is_there(attachment) && why_gone(pods, attachment);
    }
    if (waits)
        pods->gone_due_ms = MIN(pods->gone_due_ms, now_ms + AGAIN_MS);
    pods_report(pods, "gone", &faults);
}
