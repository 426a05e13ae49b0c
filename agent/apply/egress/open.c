// SPDX-License-Identifier: Apache-2.0
/*
 * Opening the plane of egress: the programs, the maps (pinned.h), and what they contain already.
 * Where they are lost, pods' flows are given their gateways anew, which are the same as long as the
 * sets are.
 *
 * Sets that an earlier agent has left have names, and are known again: their gateways keep their
 * places, and flows their gateways. Policies have none: their routes and the pods that use them are
 * read, so that what the first write does not put there again goes with its removals.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/egress/client/doors.h"
#include "apply/egress/client/ports.h"
#include "apply/egress/client/seen_links.h"
#include "apply/egress/client/sets.h"
#include "apply/egress/pinned.h"
#include "apply/egress/plane_inside.h"
#include "apply/nat/hooks/programs.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/walk.h"
#include "base/macro.h"
#include "base/text.h"
#include "bpf/egress_client.skel.h"

#define EGRESS_MAP_NAME(NAME, name) [EGRESS_MAP_##NAME] = #name,
static const char *const names[] = { EGRESS_MAPS(EGRESS_MAP_NAME) };
#undef EGRESS_MAP_NAME

static struct bpf_map *map_of(const struct egress_plane *plane, enum egress_map_index map)
{
    return bpf_object__find_map_by_name(plane->programs->obj, names[map]);
}

static int map_arrays(struct egress_plane *plane)
{
    for (enum egress_map_index i = 0; i < EGRESS_MAP_COUNT; i++)
        plane->fds[i] = map_of(plane, i) ? bpf_map__fd(map_of(plane, i)) : -1;
    plane->policies.fd = plane->fds[EGRESS_MAP_ROUTES];
    plane->control = pinned_map_array(map_of(plane, EGRESS_MAP_CONTROL));
    plane->set_words = pinned_map_array(map_of(plane, EGRESS_MAP_SETS));
    plane->gateways = pinned_map_array(map_of(plane, EGRESS_MAP_GATEWAYS));
    plane->drops = pinned_map_array(map_of(plane, EGRESS_MAP_DROPS));
    plane->set_limit = bpf_map__max_entries(map_of(plane, EGRESS_MAP_SETS));
    return plane->control && plane->set_words && plane->gateways && plane->drops ? 0 : -ENOMEM;
}

static int load(struct egress_plane *plane)
{
    plane->programs = egress_client_programs__open();
    if (!plane->programs)
        return errno ? -errno : -ENOMEM;
    int r = plane->folder ? pinned_prepare(plane->programs->obj, plane->folder) : 0;
    if (r == 0)
        r = egress_client_programs__load(plane->programs);
    return r < 0 ? r : map_arrays(plane);
}

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

static int adopt(struct egress_plane *plane)
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

static uint32_t set_of(const void *context, const char *egress, uint8_t family)
{
    return egress_set_id(context, egress, family);
}

int egress_plane_open(const char *pins, struct egress_plane **ret_plane, struct faults *faults)
{
    nat_programs_hear();
    CLEANUP(egress_plane_closep) struct egress_plane *plane = calloc(1, sizeof(*plane));
    if (!plane)
        return -ENOMEM;
    plane->sets = (struct sorted)SORTED(struct egress_installed_set, egress_installed_set_cmp);
    egress_policies_init(&plane->policies, -1, set_of, plane);
    plane->pods = (struct sorted)SORTED(struct egress_installed_pod, egress_installed_pod_cmp);
    plane->seen = (struct sorted)SORTED(uint32_t, egress_seen_cmp);
    plane->doors = (struct sorted)SORTED(struct ip, egress_door_cmp);
    plane->bridges = (struct sorted)SORTED(struct egress_port, egress_port_cmp);
    plane->known_ms = INT64_MAX;
    if (pins) {
        plane->folder = text_format("%s/egress-%d", pins, EGRESS_LAYOUT);
        if (!plane->folder)
            return -ENOMEM;
    }
    int r = load(plane);
    if (r == 0)
        r = adopt(plane);
    if (r < 0) {
        pinned_explain(r, faults);
        return r;
    }
    *ret_plane = TAKE_PTR(plane);
    return 0;
}

void egress_plane_close(struct egress_plane *plane)
{
    if (!plane)
        return;
    egress_client_programs__destroy(plane->twin);
    egress_client_programs__destroy(plane->bare);
    if (plane->programs) {
        pinned_unmap_array(map_of(plane, EGRESS_MAP_CONTROL), plane->control);
        pinned_unmap_array(map_of(plane, EGRESS_MAP_SETS), plane->set_words);
        pinned_unmap_array(map_of(plane, EGRESS_MAP_GATEWAYS), plane->gateways);
        pinned_unmap_array(map_of(plane, EGRESS_MAP_DROPS), plane->drops);
        egress_client_programs__destroy(plane->programs);
    }
    sorted_each(struct egress_installed_set, set, &plane->sets)
        free(set->egress);
    sorted_done(&plane->sets);
    egress_policies_done(&plane->policies);
    sorted_done(&plane->pods);
    sorted_done(&plane->seen);
    sorted_done(&plane->bridges);
    sorted_done(&plane->doors);
    free(plane->folder);
    free(plane);
}

int egress_plane_unpin(const char *pins)
{
    return pinned_remove(pins, "egress");
}

void egress_plane_keep_pins(const struct egress_plane *plane, struct faults *faults)
{
    if (plane->folder)
        pinned_keep(plane->programs->obj, plane->folder, faults);
}
