// SPDX-License-Identifier: Apache-2.0
/*
 * Sets of gateways in the maps.
 *
 * Each set has room for EGRESS_SET_MAX gateways, and a gateway keeps its place as long as it is in
 * the set, since flows identify it by its place. A place is written in three steps, and a program
 * may run between them: the word is set to zero, the address is written, the word is written with a
 * generation that the place never had. So a flow of a removed gateway never uses the gateway that
 * has its place now.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/egress/client/sets.h"
#include "apply/egress/datapath_inside.h"
#include "apply/nat/maps/addr.h"
#include "base/macro.h"

static void word_set(__u64 *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

uint32_t egress_set_id(const struct egress_datapath *datapath, const char *egress, uint8_t family)
{
    const struct egress_installed_set key = { .egress = (char *)egress, .family = family };
    const struct egress_installed_set *set = sorted_find(&datapath->sets, &key);
    return set ? set->id : 0;
}

static struct egress_gateway_value *places_of(const struct egress_datapath *datapath, uint32_t set)
{
    return &datapath->gateways[(size_t)set * EGRESS_SET_MAX];
}

static uint64_t state_word(const struct egress_gateway *gateway)
{
    return (egress_gateway_keeps_flows(gateway->state) ? EGRESS_GATEWAY_USED : 0) |
           (gateway->state == EGRESS_ACTIVE ? EGRESS_GATEWAY_ACTIVE : 0) |
           (gateway->state == EGRESS_STALE ? EGRESS_GATEWAY_ACTIVE | EGRESS_GATEWAY_STALE : 0) |
           (gateway->peer ? EGRESS_GATEWAY_PEER : 0) |
           (gateway->answers ? EGRESS_GATEWAY_ANSWERS : 0);
}

/* A silent gateway keeps its place, so that flows without packets in the meantime continue when
 * it is back, and so that the next agent knows its state. */
static bool has_no_place(enum egress_gateway_state state)
{
    return state == EGRESS_AWAY || state == EGRESS_WITHDRAWN;
}

/* NULL: it gets no place. */
static const struct egress_gateway *find_gateway(const struct egress_set *set, const struct ip *ip)
{
    vec_each(const struct egress_gateway, gateway, &set->gateways) {
        if (!has_no_place(gateway->state) && ip_equal(&gateway->address, ip))
            return gateway;
    }
    return NULL;
}

/* Frees the places of gateways that are gone; updates the state of the others. */
static int keep_places(struct egress_gateway_value *places, const struct egress_set *set)
{
    int written = 0;
    for (uint32_t i = 0; i < EGRESS_SET_MAX; i++) {
        uint64_t word = places[i].word;
        if (!word)
            continue;
        const struct ip ip = nat_addr_ip(&places[i].addr);
        const struct egress_gateway *gateway = find_gateway(set, &ip);
        uint64_t now = gateway ? (word & ~0xffffffffull) | state_word(gateway) : 0;
        if (now == word)
            continue;
        word_set(&places[i].word, now);
        written++;
    }
    return written;
}

static bool has_place(const struct egress_gateway_value *places, const struct nat_addr *addr)
{
    for (uint32_t i = 0; i < EGRESS_SET_MAX; i++) {
        if (places[i].word && memcmp(&places[i].addr, addr, sizeof(*addr)) == 0)
            return true;
    }
    return false;
}

/* A stale gateway that is new in the set knows none of its pods, and gets no flows yet. */
static int add_places(struct egress_datapath *datapath, struct egress_gateway_value *places,
                      const struct egress_set *set)
{
    int written = 0;
    vec_each(const struct egress_gateway, gateway, &set->gateways) {
        const struct nat_addr addr = nat_addr_of(&gateway->address);
        uint32_t i = 0;
        if (has_no_place(gateway->state) || gateway->state == EGRESS_STALE ||
            has_place(places, &addr))
            continue;
        while (i < EGRESS_SET_MAX && places[i].word)
            i++;
        if (i == EGRESS_SET_MAX)
            break; /* the planner wants at most this many */
        places[i].addr = addr;
        places[i].packets = 0;
        datapath->generation = datapath->generation + 1 ? datapath->generation + 1 : 1;
        word_set(&places[i].word, (uint64_t)datapath->generation << 32 | state_word(gateway));
        written++;
    }
    return written;
}

enum egress_gateway_memory egress_datapath_memory(const struct egress_datapath *datapath,
                                                  const struct ip *gateway)
{
    const struct nat_addr addr = nat_addr_of(gateway);
    sorted_each(const struct egress_installed_set, set, &datapath->sets) {
        const struct egress_gateway_value *places = places_of(datapath, set->id);
        for (uint32_t i = 0; i < EGRESS_SET_MAX; i++) {
            if (!(places[i].word & EGRESS_GATEWAY_ANSWERS) ||
                memcmp(&places[i].addr, &addr, sizeof(addr)) != 0)
                continue;
            if (!(places[i].word & EGRESS_GATEWAY_USED))
                return EGRESS_MEMORY_SILENT;
            return places[i].word & EGRESS_GATEWAY_STALE ? EGRESS_MEMORY_STALE
                                                         : EGRESS_MEMORY_ANSWERED;
        }
    }
    return EGRESS_MEMORY_NONE;
}

static uint64_t word_of(const struct egress_gateway_value *places, const struct egress_set *set)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < EGRESS_SET_MAX; i++)
        count = places[i].word ? i + 1 : count;
    return (uint64_t)EGRESS_SET_USED | (set->by_client ? 0 : EGRESS_SET_FLOWS) |
           (set->source_port_auto ? EGRESS_SET_AUTO : 0) |
           (set->family == IP_V6 ? EGRESS_SET_V6 : 0) | count << EGRESS_SET_COUNT_SHIFT;
}

/* An id that no set has, searched from after the last allocated one. 0: all are in use. */
static uint32_t new_id(struct egress_datapath *datapath)
{
    for (uint32_t tries = 1; tries < datapath->set_limit; tries++) {
        datapath->last_set =
            datapath->last_set + 1 < datapath->set_limit ? datapath->last_set + 1 : 1;
        if (!datapath->set_words[datapath->last_set])
            return datapath->last_set;
    }
    return 0;
}

/* Allocates an id for a set, and writes its name. Returns 0 or -errno. */
static int begin_set(struct egress_datapath *datapath, const struct egress_set *set,
                     uint32_t *ret_id)
{
    char name[NAT_NAME_MAX] = "";
    struct egress_installed_set fresh = { .family = set->family, .id = new_id(datapath) };
    if (!fresh.id)
        return -ENOSPC;
    if (strlen(set->egress) >= sizeof(name))
        return -ENAMETOOLONG;
    strcpy(name, set->egress);
    if (bpf_map_update_elem(datapath->fds[EGRESS_MAP_NAMES], &fresh.id, name, BPF_ANY) < 0)
        return -errno;
    fresh.egress = strdup(set->egress);
    int r = fresh.egress ? sorted_put(&datapath->sets, &fresh) : -ENOMEM;
    if (r < 0) {
        free(fresh.egress);
        return r;
    }
    *ret_id = fresh.id;
    return 0;
}

static int write_set(struct egress_datapath *datapath, const struct egress_set *set)
{
    uint32_t id = egress_set_id(datapath, set->egress, set->family);
    int r = id ? 0 : begin_set(datapath, set, &id);
    if (r < 0)
        return r;
    struct egress_gateway_value *places = places_of(datapath, id);
    int written = keep_places(places, set);
    written += add_places(datapath, places, set);
    uint64_t word = word_of(places, set);
    if (datapath->set_words[id] != word) {
        __atomic_store_n(&datapath->set_words[id], word, __ATOMIC_RELEASE);
        written++;
    }
    return written;
}

int egress_sets_write(struct egress_datapath *datapath, const struct sorted *sets, int *ret_written)
{
    datapath->sets_left = NULL;
    sorted_each(struct egress_set *, set, sets) {
        int r = write_set(datapath, *set);
        if (r == -ENOSPC || r == -ENAMETOOLONG) {
            datapath->sets_left = (*set)->egress;
            continue;
        }
        if (r < 0)
            return r;
        *ret_written += r;
    }
    return 0;
}

static bool is_wanted(const struct sorted *sets, const struct egress_installed_set *installed)
{
    struct egress_set key = { .egress = installed->egress, .family = installed->family };
    struct egress_set *pointer = &key;
    return sorted_find(sets, &pointer) != NULL;
}

int egress_sets_drop(struct egress_datapath *datapath, const struct sorted *sets)
{
    int dropped = 0;
    for (size_t i = datapath->sets.count; i-- > 0;) {
        struct egress_installed_set *installed = sorted_at(&datapath->sets, i);
        if (is_wanted(sets, installed))
            continue;
        const struct egress_installed_set gone = *installed;
        struct egress_gateway_value *places = places_of(datapath, gone.id);
        for (uint32_t place = 0; place < EGRESS_SET_MAX; place++)
            word_set(&places[place].word, 0);
        __atomic_store_n(&datapath->set_words[gone.id], 0, __ATOMIC_RELEASE);
        if (bpf_map_delete_elem(datapath->fds[EGRESS_MAP_NAMES], &gone.id) < 0 && errno != ENOENT)
            return -errno;
        sorted_remove(&datapath->sets, &gone);
        free(gone.egress);
        dropped++;
    }
    return dropped;
}
