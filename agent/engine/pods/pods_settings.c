// SPDX-License-Identifier: Apache-2.0
/*
 * The sysctls that agent-cni wrote for a pod, and other settings of the node's end that its packets
 * need. The agent has no permission to write them: a setting that was changed is a fault until it
 * is corrected.
 *
 * Where the kernel notifies of a change, the value is read at once. It gives no notification of
 * accept_ra and disable_ipv6, so all settings are polled: a few pods in a turn, so that a turn
 * costs the same on a node with many. A change that concerns all interfaces is followed turn by
 * turn without a pause. The settings of an interface are read as well when the kernel refuses a
 * route by it. Before agent-cni has reported that it is done, no setting is wrong yet.
 *
 * A cause is reported once. With service NAT on, NAT reports forwarding (nat_machine.h); where the
 * node as a whole does not forward, no interface is named for it.
 */
#include <errno.h>
#include <string.h>

#include "apply/settings.h"
#include "base/macro.h"
#include "base/text.h"
#include "engine/pods/pods_state.h"
#include "faults/pods.h"
#include "faults/raise.h"

enum {
    TURN = 64,          /* pods per turn */
    REST_MS = 5 * 1000, /* between two turns */
    AT_ONCE_MS = 50,    /* likewise, if all are to be read */
    DRIFTS_TOLD = 16,   /* by name */
    FIRST_OF_ENDS = 2,  /* rows before it are for the node as a whole */
};

static const struct {
    const char *family, *setting; /* "": the key is directly below net */
    enum ip_family needed_by;
    long wanted;
    bool nat_tells;                 /* where services.enabled */
    const struct fault_type *fault; /* its arguments are those of pod_end_not_forwarding */
} requests[] = {
    { "", "net.ipv4.ip_forward", IP_V4, 1, true, &fault_type_pod_node_not_forwarding },
    { "", "net.ipv6.conf.all.forwarding", IP_V6, 1, true, &fault_type_pod_node_not_forwarding },
    { "ipv4", "forwarding", IP_V4, 1, true, &fault_type_pod_end_not_forwarding },
    { "ipv6", "disable_ipv6", IP_V6, 0, false, &fault_type_pod_end_without_ipv6 },
    { "ipv6", "accept_ra", IP_V6, 0, false, &fault_type_pod_end_accepts_ra },
};

int pod_drift_cmp(const void *a, const void *b)
{
    const struct pod_drift *left = a, *right = b;
    int r = CMP(left->ifindex, right->ifindex);
    return r ? r : CMP(left->request, right->request);
}

void pods_settings_done(struct pods_engine *pods)
{
    sorted_done(&pods->drifts);
    vec_done(&pods->moved);
}

int pods_settings_hear(struct pods_engine *pods, const struct kernel_events *events)
{
    if (events->resynced)
        pods->settings_left = pods->attachments.count;
    vec_each(const uint32_t, ifindex, &events->settings) {
        if (*ifindex == SETTINGS_OF_ALL)
            pods->settings_left = pods->attachments.count;
        int r = vec_push(&pods->moved, *ifindex);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Reading ---- */

static char *key_of(uint32_t request, const char *interface)
{
    return *requests[request].family
               ? setting_key(requests[request].family, interface, requests[request].setting)
               : strdup(requests[request].setting);
}

/*
 * A setting that can't be read does not exist: an interface that was deleted, or a kernel without
 * the protocol.
 */
static int look_at(struct pods_engine *pods, uint32_t ifindex, const char *interface,
                   uint32_t request)
{
    struct pod_drift drift = { .ifindex = ifindex, .request = request };
    AUTOFREE char *key = key_of(request, interface);
    if (!key)
        return -ENOMEM;
    if (setting_read(key, &drift.value) == 0 && drift.value != requests[request].wanted)
        return sorted_put(&pods->drifts, &drift);
    sorted_remove(&pods->drifts, &drift);
    return 0;
}

static bool is_wanted(const struct pods_engine *pods, uint32_t request, bool v4, bool v6)
{
    return (requests[request].needed_by == IP_V4 ? v4 : v6) &&
           !(requests[request].nat_tells && pods->setup.config->services.enabled);
}

static int look_at_end(struct pods_engine *pods, const struct pod_attachment *attachment)
{
    const struct link *link = link_find(kernel_links(pods->setup.kernel), attachment->ifindex);
    const bool v4 = attachment->pod_interface.v4.family != IP_NONE,
               v6 = attachment->pod_interface.v6.family != IP_NONE;
    int r = 0;
    for (uint32_t i = FIRST_OF_ENDS;
         r == 0 && attachment->wired && link && i < ARRAY_SIZE(requests); i++) {
        if (is_wanted(pods, i, v4, v6))
            r = look_at(pods, attachment->ifindex, link->name, i);
    }
    return r;
}

static int look_at_node(struct pods_engine *pods)
{
    bool v4 = false, v6 = false;
    int r = 0;
    sorted_each(const struct pod_attachment, attachment, &pods->attachments) {
        v4 |= attachment->pod_interface.v4.family != IP_NONE;
        v6 |= attachment->pod_interface.v6.family != IP_NONE;
    }
    for (uint32_t i = 0; r == 0 && i < FIRST_OF_ENDS; i++) {
        if (is_wanted(pods, i, v4, v6))
            r = look_at(pods, 0, "", i);
        else
            sorted_remove(&pods->drifts, &(struct pod_drift){ .request = i });
    }
    return r;
}

static const struct pod_attachment *stay_by(const struct pods_engine *pods, uint32_t ifindex)
{
    sorted_each(const struct pod_attachment, attachment, &pods->attachments) {
        if (attachment->ifindex == ifindex)
            return attachment;
    }
    return NULL;
}

/* A reported setting is read again in every turn: it may be corrected. */
static int note_told(struct pods_engine *pods)
{
    const size_t count = MIN((size_t)DRIFTS_TOLD, pods->drifts.count);
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = vec_push(&pods->moved,
                     ((const struct pod_drift *)sorted_at(&pods->drifts, i))->ifindex);
    return r;
}

static int look_at_moved(struct pods_engine *pods)
{
    int r = note_told(pods);
    vec_each(const uint32_t, ifindex, &pods->moved) {
        const struct pod_attachment *attachment = *ifindex ? stay_by(pods, *ifindex) : NULL;
        r = r == 0 && attachment ? look_at_end(pods, attachment) : r;
    }
    vec_clear(&pods->moved);
    return r;
}

static int take_turn(struct pods_engine *pods)
{
    const size_t count = MIN((size_t)TURN, pods->attachments.count);
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        pods->settings_at =
            pods->settings_at + 1 < pods->attachments.count ? pods->settings_at + 1 : 0;
        r = look_at_end(pods, sorted_at(&pods->attachments, pods->settings_at));
    }
    pods->settings_left -= MIN(count, pods->settings_left);
    return r;
}

/* Drops the findings of deleted interfaces, and those that no longer apply. */
static void drop_drifts(struct pods_engine *pods)
{
    for (size_t i = pods->drifts.count; i-- > 0;) {
        const struct pod_drift drift = *(struct pod_drift *)sorted_at(&pods->drifts, i);
        const struct pod_attachment *attachment =
            drift.ifindex ? stay_by(pods, drift.ifindex) : NULL;
        if (drift.ifindex && (!attachment || !is_wanted(pods, drift.request, true, true)))
            sorted_remove(&pods->drifts, &drift);
    }
}

/* ---- Telling ---- */

/* A setting of the node as a whole explains those of its interfaces. */
static bool is_excused(const struct pods_engine *pods, const struct pod_drift *drift)
{
    const struct pod_drift whole = { .request = 0 };
    return drift->ifindex && requests[drift->request].nat_tells &&
           sorted_find(&pods->drifts, &whole);
}

static void tell(const struct pods_engine *pods, const struct pod_drift *drift,
                 struct faults *faults)
{
    const struct link *link = link_find(kernel_links(pods->setup.kernel), drift->ifindex);
    const struct pod_attachment *attachment = drift->ifindex ? stay_by(pods, drift->ifindex) : NULL;
    AUTOFREE char *key = key_of(drift->request, link ? link->name : "");
    AUTOFREE char *pod = attachment && *attachment->name
                             ? text_format("%s/%s", attachment->namespace, attachment->name)
                             : NULL;
    fault_raise_type(faults, key, requests[drift->request].fault,
                     &(const struct fault_pod_end_not_forwarding){
                         .value = drift->value, .pod = pod, .setting = key });
}

static void tell_all(struct pods_engine *pods)
{
    AUTOFAULTS struct faults faults = { 0 };
    size_t others = 0;
    sorted_each(const struct pod_drift, drift, &pods->drifts) {
        if (is_excused(pods, drift))
            continue;
        if (faults.list.count < DRIFTS_TOLD)
            tell(pods, drift, &faults);
        else
            others++;
    }
    if (others)
        fault_raise(&faults, "sysctls of pods' interfaces", pod_settings_more,
                    .count = (int64_t)others);
    pods_report(pods, "settings", &faults);
}

/* A node without pods has nothing to read. */
static int64_t next_turn_ms(const struct pods_engine *pods, int64_t now_ms)
{
    if (pods->attachments.count == 0)
        return INT64_MAX;
    return now_ms + (pods->settings_left ? AT_ONCE_MS : REST_MS);
}

int pods_follow_settings(struct pods_engine *pods, int64_t now_ms)
{
    const bool first = pods->settings_due_ms == INT64_MAX && pods->attachments.count > 0;
    const bool due = first || pods->settings_left || now_ms >= pods->settings_due_ms;
    if (!due && pods->moved.count == 0 && pods->drifts.count == 0)
        return 0;
    int r = look_at_node(pods);
    if (r < 0)
        return r;
    r = look_at_moved(pods);
    if (r < 0)
        return r;
    if (due)
        r = take_turn(pods);
    if (r < 0)
        return r;
    drop_drifts(pods);
    tell_all(pods);
    if (due)
        pods->settings_due_ms = next_turn_ms(pods, now_ms);
    return 0;
}
