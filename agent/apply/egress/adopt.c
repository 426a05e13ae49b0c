// SPDX-License-Identifier: Apache-2.0
/*
 * What an earlier agent has left in the maps of egress. Sets have names, and are known again: their
 * gateways keep their places, and flows their gateways. Policies have none: their routes and the
 * pods that use them are read, so that what the first write does not put there again goes with its
 * removals.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/egress/adopt.h"
#include "apply/egress/client/doors.h"
#include "apply/egress/client/ports.h"
#include "apply/egress/client/seen_links.h"
#include "apply/egress/plane_inside.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/walk.h"
#include "base/macro.h"

static int adopt_set(struct egress_plane *plane, uint32_t id, char name[static NAT_NAME_MAX])
{
    name[NAT_NAME_MAX - 1] = '\0';
    if (id == 0 || id >= plane->set_limit || !plane->set_words[id] || !*name) {
        (void)bpf_map_delete_elem(plane->fds[EGRESS_MAP_NAMES], &id);
        return 0;
    }
    struct egress_installed_set set = {
        .egress = strdup(name),
        .family = plane->set_words[id] & EGRESS_SET_V6 ? IP_V6 : IP_V4,
        .id = id,
    };
    if (!set.egress)
        return -ENOMEM;
    int r = sorted_find(&plane->sets, &set) ? -EEXIST : sorted_put(&plane->sets, &set);
    if (r < 0)
        free(set.egress);
    return r == -EEXIST ? 0 : r;
}

static int adopt_sets(struct egress_plane *plane)
{
    AUTOWALK struct nat_walk walk;
    nat_walk_start(&walk, plane->fds[EGRESS_MAP_NAMES], sizeof(uint32_t), NAT_NAME_MAX);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            r = adopt_set(plane, *(const uint32_t *)nat_walk_key(&walk, i),
                          nat_walk_value(&walk, i));
            if (r < 0)
                return r;
        }
    }
    return r;
}

/* A set without a name is one that a crash has left: nothing points to it any more. */
static void clear_nameless(struct egress_plane *plane)
{
    for (uint32_t id = 1; id < plane->set_limit; id++) {
        bool named = false;
        sorted_each(const struct egress_installed_set, set, &plane->sets)
            named |= set->id == id;
        struct egress_gateway_value *places = &plane->gateways[(size_t)id * EGRESS_SET_MAX];
        for (uint32_t i = 0; i < EGRESS_SET_MAX; i++) {
            plane->generation = MAX(plane->generation, (uint32_t)(places[i].word >> 32));
            if (!named)
                __atomic_store_n(&places[i].word, 0, __ATOMIC_RELEASE);
        }
        if (!named)
            plane->set_words[id] = 0;
    }
}

static int adopt_pods(struct egress_plane *plane)
{
    AUTOWALK struct nat_walk walk;
    nat_walk_start(&walk, plane->fds[EGRESS_MAP_PODS], sizeof(struct nat_addr),
                   sizeof(struct egress_pod_value));
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            const struct egress_pod_value *value = nat_walk_value(&walk, i);
            const struct egress_installed_pod pod = {
                .address = nat_addr_ip(nat_walk_key(&walk, i)),
                .policy = value->policy,
                .flags = value->flags,
                .port = value->port,
                .since_ms = value->flags & EGRESS_POD_NEW ? 1 : 0,
                .adopted = true,
            };
            plane->policies.last = MAX(plane->policies.last, pod.policy);
            r = sorted_put(&plane->pods, &pod);
            if (r < 0)
                return r;
        }
    }
    return r;
}

int egress_adopt(struct egress_plane *plane)
{
    int r = adopt_sets(plane);
    if (r < 0)
        return r;
    clear_nameless(plane);
    r = egress_policies_adopt(&plane->policies);
    if (r == 0)
        r = adopt_pods(plane);
    if (r == 0)
        r = egress_ports_adopt(plane);
    if (r == 0)
        r = egress_doors_adopt(plane);
    return r < 0 ? r : egress_seen_adopt(plane);
}
