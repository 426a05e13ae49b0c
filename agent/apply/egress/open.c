// SPDX-License-Identifier: Apache-2.0
/*
 * Opens the datapath of egress: the programs, the maps (pinned.h), and their existing contents. If
 * the maps are lost, gateways are selected again for pods' flows; the result is the same as long as
 * the sets are the same.
 *
 * Sets of an earlier agent have names, and are recognized: their gateways keep their places, and
 * flows their gateways. Policies have no names: their routes and the pods that use them are read,
 * so that the removals of the first write delete everything that is not wanted any more.
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
#include "apply/egress/datapath_inside.h"
#include "apply/egress/pinned.h"
#include "apply/nat/hooks/programs.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/walk.h"
#include "base/macro.h"
#include "base/text.h"
#include "bpf/egress_client.skel.h"

#define EGRESS_MAP_NAME(NAME, name) [EGRESS_MAP_##NAME] = #name,
static const char *const names[] = { EGRESS_MAPS(EGRESS_MAP_NAME) };
#undef EGRESS_MAP_NAME

static struct bpf_map *map_of(const struct egress_datapath *datapath, enum egress_map_index map)
{
    return bpf_object__find_map_by_name(datapath->programs->obj, names[map]);
}

static int map_arrays(struct egress_datapath *datapath)
{
    for (enum egress_map_index i = 0; i < EGRESS_MAP_COUNT; i++)
        datapath->fds[i] = map_of(datapath, i) ? bpf_map__fd(map_of(datapath, i)) : -1;
    datapath->policies.fd = datapath->fds[EGRESS_MAP_ROUTES];
    datapath->control = pinned_map_array(map_of(datapath, EGRESS_MAP_CONTROL));
    datapath->set_words = pinned_map_array(map_of(datapath, EGRESS_MAP_SETS));
    datapath->gateways = pinned_map_array(map_of(datapath, EGRESS_MAP_GATEWAYS));
    datapath->drops = pinned_map_array(map_of(datapath, EGRESS_MAP_DROPS));
    datapath->set_limit = bpf_map__max_entries(map_of(datapath, EGRESS_MAP_SETS));
    return datapath->control && datapath->set_words && datapath->gateways && datapath->drops
               ? 0
               : -ENOMEM;
}

static int load(struct egress_datapath *datapath)
{
    datapath->programs = egress_client_programs__open();
    if (!datapath->programs)
        return errno ? -errno : -ENOMEM;
    int r = datapath->folder ? pinned_prepare(datapath->programs->obj, datapath->folder) : 0;
    if (r < 0)
        return r;
    r = egress_client_programs__load(datapath->programs);
    return r < 0 ? r : map_arrays(datapath);
}

static int adopt_set(struct egress_datapath *datapath, uint32_t id, char name[static NAT_NAME_MAX])
{
    name[NAT_NAME_MAX - 1] = '\0';
    if (id == 0 || id >= datapath->set_limit || !datapath->set_words[id] || !*name) {
        (void)bpf_map_delete_elem(datapath->fds[EGRESS_MAP_NAMES], &id);
        return 0;
    }
    struct egress_installed_set set = {
        .egress = strdup(name),
        .family = datapath->set_words[id] & EGRESS_SET_V6 ? IP_V6 : IP_V4,
        .id = id,
    };
    if (!set.egress)
        return -ENOMEM;
    int r = sorted_find(&datapath->sets, &set) ? -EEXIST : sorted_put(&datapath->sets, &set);
    if (r < 0)
        free(set.egress);
    return r == -EEXIST ? 0 : r;
}

static int adopt_sets(struct egress_datapath *datapath)
{
    AUTOWALK struct nat_walk walk;
    nat_walk_start(&walk, datapath->fds[EGRESS_MAP_NAMES], sizeof(uint32_t), NAT_NAME_MAX);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            r = adopt_set(datapath, *(const uint32_t *)nat_walk_key(&walk, i),
                          nat_walk_value(&walk, i));
            if (r < 0)
                return r;
        }
    }
    return r;
}

/* A set without a name was left by a crash: nothing refers to it any more. */
static void clear_nameless(struct egress_datapath *datapath)
{
    for (uint32_t id = 1; id < datapath->set_limit; id++) {
        bool named = false;
        sorted_each(const struct egress_installed_set, set, &datapath->sets)
            named |= set->id == id;
        struct egress_gateway_value *places = &datapath->gateways[(size_t)id * EGRESS_SET_MAX];
        for (uint32_t i = 0; i < EGRESS_SET_MAX; i++) {
            datapath->generation = MAX(datapath->generation, (uint32_t)(places[i].word >> 32));
            if (!named)
                __atomic_store_n(&places[i].word, 0, __ATOMIC_RELEASE);
        }
        if (!named)
            datapath->set_words[id] = 0;
    }
}

static int adopt_pods(struct egress_datapath *datapath)
{
    AUTOWALK struct nat_walk walk;
    nat_walk_start(&walk, datapath->fds[EGRESS_MAP_PODS], sizeof(struct nat_addr),
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
            datapath->policies.last = MAX(datapath->policies.last, pod.policy);
            r = sorted_put(&datapath->pods, &pod);
            if (r < 0)
                return r;
        }
    }
    return r;
}

static int adopt(struct egress_datapath *datapath)
{
    int r = adopt_sets(datapath);
    if (r < 0)
        return r;
    clear_nameless(datapath);
    r = egress_policies_adopt(&datapath->policies);
    if (r < 0)
        return r;
    r = adopt_pods(datapath);
    if (r < 0)
        return r;
    r = egress_ports_adopt(datapath);
    if (r < 0)
        return r;
    r = egress_doors_adopt(datapath);
    return r < 0 ? r : egress_seen_adopt(datapath);
}

static uint32_t set_of(const void *context, const char *egress, uint8_t family)
{
    return egress_set_id(context, egress, family);
}

int egress_datapath_open(const char *pins, struct egress_datapath **ret_datapath,
                         struct faults *faults)
{
    nat_programs_hear();
    CLEANUP(egress_datapath_closep) struct egress_datapath *datapath = calloc(1, sizeof(*datapath));
    if (!datapath)
        return -ENOMEM;
    datapath->sets = (struct sorted)SORTED(struct egress_installed_set, egress_installed_set_cmp);
    egress_policies_init(&datapath->policies, -1, set_of, datapath);
    datapath->pods = (struct sorted)SORTED(struct egress_installed_pod, egress_installed_pod_cmp);
    datapath->seen = (struct sorted)SORTED(uint32_t, egress_seen_cmp);
    datapath->doors = (struct sorted)SORTED(struct ip, egress_door_cmp);
    datapath->bridges = (struct sorted)SORTED(struct egress_port, egress_port_cmp);
    datapath->known_ms = INT64_MAX;
    if (pins) {
        datapath->folder = text_format("%s/egress-%d", pins, EGRESS_LAYOUT);
        if (!datapath->folder)
            return -ENOMEM;
    }
    int r = load(datapath);
    if (r == 0)
        r = adopt(datapath);
    if (r < 0) {
        pinned_explain(r, faults);
        return r;
    }
    *ret_datapath = TAKE_PTR(datapath);
    return 0;
}

void egress_datapath_close(struct egress_datapath *datapath)
{
    if (!datapath)
        return;
    egress_client_programs__destroy(datapath->twin);
    egress_client_programs__destroy(datapath->bare);
    if (datapath->programs) {
        pinned_unmap_array(map_of(datapath, EGRESS_MAP_CONTROL), datapath->control);
        pinned_unmap_array(map_of(datapath, EGRESS_MAP_SETS), datapath->set_words);
        pinned_unmap_array(map_of(datapath, EGRESS_MAP_GATEWAYS), datapath->gateways);
        pinned_unmap_array(map_of(datapath, EGRESS_MAP_DROPS), datapath->drops);
        egress_client_programs__destroy(datapath->programs);
    }
    sorted_each(struct egress_installed_set, set, &datapath->sets)
        free(set->egress);
    sorted_done(&datapath->sets);
    egress_policies_done(&datapath->policies);
    sorted_done(&datapath->pods);
    sorted_done(&datapath->seen);
    sorted_done(&datapath->bridges);
    sorted_done(&datapath->doors);
    free(datapath->folder);
    free(datapath);
}

int egress_datapath_unpin(const char *pins)
{
    return pinned_remove(pins, "egress");
}

void egress_datapath_keep_pins(const struct egress_datapath *datapath, struct faults *faults)
{
    if (datapath->folder)
        pinned_keep(datapath->programs->obj, datapath->folder, faults);
}
