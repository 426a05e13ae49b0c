// SPDX-License-Identifier: Apache-2.0
/*
 * Pods in the maps of egress, and the order in which all maps are written: the wanted contents are
 * compared with the maps, and the difference is written.
 *
 * A pod refers to a policy once all routes of that policy are in the map (policies.h); a policy to
 * which no pod refers any more loses its routes afterwards. So no packet of a pod meets an
 * incomplete policy.
 *
 * A pod that waits for an Egress, or whose policy does not fit into the maps, is held: it may only
 * reach the cluster. A pod that got its policy after a gateway last learned of clients is new: that
 * gateway does not know the pod.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/egress/client/doors.h"
#include "apply/egress/client/sets.h"
#include "apply/egress/datapath_inside.h"
#include "apply/nat/maps/addr.h"
#include "base/clock.h"
#include "base/macro.h"
#include "base/remedy.h"
#include "faults/egress.h"
#include "faults/raise.h"

/* ---- pods ---- */

/* State that programs have learned of the pod is kept. */
static int put_pod(struct egress_datapath *datapath, const struct egress_installed_pod *pod)
{
    const struct nat_addr addr = nat_addr_of(&pod->address);
    struct egress_pod_value value = { 0 };
    (void)bpf_map_lookup_elem(datapath->fds[EGRESS_MAP_PODS], &addr, &value);
    value.policy = pod->policy;
    value.flags = pod->flags;
    value.check = nat_check(&addr, 0);
    value.port = pod->port;
    if (pod->port)
        value.ifindex = pod->port; /* the one that sent first */
    if (bpf_map_update_elem(datapath->fds[EGRESS_MAP_PODS], &addr, &value, BPF_ANY) < 0)
        return -errno;
    return sorted_put(&datapath->pods, pod);
}

/* The time since which a pod has its current policy. */
static int64_t since_of(const struct egress_installed_pod *installed, uint32_t policy)
{
    if (!installed)
        return clock_mono_ms();
    return installed->policy == policy || installed->adopted ? installed->since_ms
                                                             : clock_mono_ms();
}

int egress_home_cmp(const void *a, const void *b)
{
    return ip_cmp(&((const struct egress_home *)a)->address,
                  &((const struct egress_home *)b)->address);
}

void egress_datapath_set_homes(struct egress_datapath *datapath, const struct sorted *homes)
{
    datapath->homes = homes;
}

uint32_t egress_datapath_port_of(const struct egress_datapath *datapath, const struct ip *address)
{
    const struct egress_installed_pod key = { .address = *address }, *installed;
    installed = sorted_find(&datapath->pods, &key);
    return installed ? installed->port : 0;
}

static uint32_t home_of(const struct egress_datapath *datapath, const struct ip *address)
{
    const struct egress_home key = { .address = *address };
    const struct egress_home *home = datapath->homes ? sorted_find(datapath->homes, &key) : NULL;
    return home ? home->port : 0;
}

static bool is_held(const struct egress_datapath *datapath, const struct egress_pod *pod)
{
    return pod->is_client &&
           (pod->policy.waiting || egress_policy_is_partial(&datapath->policies, &pod->policy));
}

/* Returns 1 if the map was written, 0 if it was correct, or -errno. */
static int write_pod(struct egress_datapath *datapath, const struct egress_pod *pod)
{
    struct egress_installed_pod wanted = {
        .address = pod->address,
        .policy = pod->is_client ? egress_policy_id(&datapath->policies, &pod->policy) : 0,
        .flags = is_held(datapath, pod) ? EGRESS_POD_HELD : 0,
        .port = home_of(datapath, &pod->address),
    };
    const struct egress_installed_pod *installed = sorted_find(&datapath->pods, &wanted);
    wanted.since_ms = since_of(installed, wanted.policy);
    wanted.flags |= wanted.policy && wanted.since_ms > datapath->known_ms ? EGRESS_POD_NEW : 0;
    if (installed && installed->policy == wanted.policy && installed->flags == wanted.flags &&
        installed->port == wanted.port)
        return 0;
    int r = put_pod(datapath, &wanted);
    return r < 0 ? r : 1;
}

static int drop_pod(struct egress_datapath *datapath, const struct ip *address)
{
    const struct egress_installed_pod gone = { .address = *address };
    const struct nat_addr addr = nat_addr_of(address);
    if (bpf_map_delete_elem(datapath->fds[EGRESS_MAP_PODS], &addr) < 0 && errno != ENOENT)
        return -errno;
    sorted_remove(&datapath->pods, &gone);
    return 1;
}

static const struct egress_pod *find_pod(const struct sorted *pods, const struct ip *address)
{
    const struct egress_pod key = { .address = *address }, *pointer = &key;
    struct egress_pod *const *found = sorted_find(pods, &pointer);
    return found ? *found : NULL;
}

static int write_pods(struct egress_datapath *datapath, const struct sorted *pods, int *written)
{
    sorted_each(struct egress_pod *, pod, pods) {
        int r = write_pod(datapath, *pod);
        if (r < 0)
            return r;
        *written += r;
    }
    return 0;
}

static int drop_pods(struct egress_datapath *datapath, const struct sorted *pods, int *written)
{
    for (size_t i = datapath->pods.count; i-- > 0;) {
        const struct ip address =
            ((const struct egress_installed_pod *)sorted_at(&datapath->pods, i))->address;
        int r = find_pod(pods, &address) ? 0 : drop_pod(datapath, &address);
        if (r < 0)
            return r;
        *written += r;
    }
    return 0;
}

/* ---- all maps ---- */

static struct egress_destinations destinations_of(const struct egress_wanted *wanted)
{
    return (struct egress_destinations){ wanted->policies, wanted->excluded,
                                         wanted->excluded_count };
}

static int write_all(struct egress_datapath *datapath, const struct egress_wanted *wanted,
                     struct sorted *routes, int *written)
{
    const struct egress_destinations destinations = destinations_of(wanted);
    int r = egress_sets_write(datapath, wanted->sets, written);
    if (r < 0)
        return r;
    r = egress_doors_write(datapath, wanted->sets);
    if (r < 0)
        return r;
    r = egress_policies_write(&datapath->policies, &destinations, routes, written);
    return r < 0 ? r : write_pods(datapath, wanted->pods, written);
}

static int remove_all(struct egress_datapath *datapath, const struct egress_wanted *wanted,
                      const struct sorted *routes, int *written)
{
    const struct egress_destinations destinations = destinations_of(wanted);
    int r = drop_pods(datapath, wanted->pods, written);
    if (r < 0)
        return r;
    r = egress_policies_drop(&datapath->policies, &destinations, routes, written);
    if (r < 0)
        return r;
    r = egress_sets_drop(datapath, wanted->sets);
    if (r < 0)
        return r;
    *written += r;
    return 0;
}

static void tell_error(int r, struct faults *faults)
{
    if (r == -ENOSPC || r == -E2BIG)
        fault_raise(faults, "egress", egress_maps_full, .reason = strerror(-r));
    else
        fault_raise(faults, "egress", egress_maps_unwritable, .reason = strerror(-r),
                    .remedy = remedy_for_kernel(r));
}

static bool is_crowded(const struct egress_datapath *datapath)
{
    return datapath->sets_left || egress_policies_partial(&datapath->policies);
}

/* What is written takes effect, even if other entries did not fit. */
static void tell_crowd(const struct egress_datapath *datapath, struct faults *faults)
{
    const uint32_t partial = egress_policies_partial(&datapath->policies);
    if (datapath->sets_left)
        fault_raise(faults, "egress", egress_sets_full, .count = (int64_t)datapath->sets.count,
                    .egress = datapath->sets_left);
    else if (partial)
        fault_raise(faults, "egress", egress_destinations_full, .count = partial);
}

int egress_datapath_write(struct egress_datapath *datapath, const struct egress_wanted *wanted,
                          struct faults *faults)
{
    AUTOSORTED struct sorted routes = SORTED(struct egress_route, egress_route_cmp);
    int written = 0;
    datapath->known_ms = wanted->known_ms;
    int r = write_all(datapath, wanted, &routes, &written), before = written;
    if (r == 0 && wanted->may_remove)
        r = remove_all(datapath, wanted, &routes, &written);
    if (r == 0 && written > before && is_crowded(datapath)) /* there may be room now */
        r = write_all(datapath, wanted, &routes, &written);
    if (r < 0)
        tell_error(r, faults);
    else
        tell_crowd(datapath, faults);
    datapath->sets_left = NULL;
    return r < 0 ? r : written;
}

int egress_datapath_write_pods(struct egress_datapath *datapath, const struct sorted *pods,
                               const ip_list *addresses, bool may_remove, struct faults *faults)
{
    int written = 0;
    vec_each(const struct ip, address, addresses) {
        const struct egress_installed_pod key = { .address = *address };
        const struct egress_pod *pod = find_pod(pods, address);
        int r = 0;
        if (pod)
            r = write_pod(datapath, pod);
        else if (may_remove && sorted_find(&datapath->pods, &key))
            r = drop_pod(datapath, address);
        if (r < 0) {
            tell_error(r, faults);
            return r;
        }
        written += r;
    }
    return written;
}

void egress_datapath_set(struct egress_datapath *datapath, const struct egress_settings *settings)
{
    struct egress_control *control = datapath->control;
    enum { AUTO_FIRST = 32768, AUTO_LAST = 60999 }; /* the kernel's default range of local ports */
    control->auto_first = AUTO_FIRST;
    control->auto_count = AUTO_LAST - AUTO_FIRST + 1;
    control->flags = (settings->hold_unknown ? EGRESS_HOLD_UNKNOWN : 0) |
                     (settings->pod_tunnels ? EGRESS_POD_TUNNELS : 0);
    __atomic_store_n(&control->port, htons(settings->port), __ATOMIC_RELEASE);
}
