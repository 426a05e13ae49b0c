// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the live maps for documents, metrics and the proof: names, sets, counters, refusals, the
 * hooks' packet counts, and how full each map is. Results have the types of datapath.h, so that
 * callers see nothing of the layout but ids.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/hooks/programs.h"
#include "apply/nat/maps/arrays.h"
#include "apply/nat/maps/table.h"
#include "base/files/file.h"

int nat_datapath_name(struct nat_datapath *datapath, uint32_t service,
                      char buffer[static NAT_NAME_MAX])
{
    char name[NAT_NAME_MAX];
    int r = nat_table_get(datapath, NAT_MAP_NAMES, &service, name);
    if (r < 0 && r != -ENOENT)
        return r;
    name[NAT_NAME_MAX - 1] = '\0';
    (void)snprintf(buffer, NAT_NAME_MAX, "%s", r == 0 ? name : "");
    return 0;
}

/* The port's entry in the bank in force; NULL if the port is not this service's. */
static const struct nat_port_value *port_in_force(const struct nat_datapath *datapath,
                                                  uint32_t service, uint32_t port)
{
    if (service == 0 || service >= datapath->maps[NAT_MAP_SERVICES].entries ||
        port >= nat_port_limit(datapath))
        return NULL;
    const struct nat_port_value *value =
        nat_port_at(datapath, port, nat_service_bank(datapath, service));
    return value->owner >> 32 == service ? value : NULL;
}

int nat_datapath_set_endpoints(struct nat_datapath *datapath, uint32_t service, uint32_t port,
                               enum nat_set_kind set, nat_endpoint_list *ret_list)
{
    const struct nat_port_value *value = port_in_force(datapath, service, port);
    uint32_t count = 0;
    const __u64 *slots = value ? nat_set_slots(datapath, value->sets[set], &count) : NULL;
    AUTOVEC nat_endpoint_list list = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = (uint32_t)(slots[i] >> 32);
        if (!nat_endpoint_lives(datapath, id, service) || nat_slot_of(datapath, id) != slots[i])
            continue;
        int r = vec_push(&list, nat_endpoint_of(datapath, id));
        if (r < 0)
            return r;
    }
    vec_sort(&list, nat_endpoint_cmp);
    *ret_list = TAKE_STRUCT(list);
    return 0;
}

bool nat_datapath_port(const struct nat_datapath *datapath, uint32_t port, uint8_t *ret_family,
                       enum protocol *ret_protocol, uint16_t *ret_number)
{
    if (port == 0 || port >= nat_port_limit(datapath))
        return false;
    uint64_t owner = nat_port_at(datapath, port, 0)->owner;
    if (owner == 0)
        return false;
    *ret_family = (uint8_t)(owner >> 24);
    *ret_protocol = (uint8_t)(owner >> 16);
    *ret_number = (uint16_t)owner;
    return true;
}

bool nat_datapath_counters(struct nat_datapath *datapath, const char *namespace, const char *name,
                           struct nat_counter *ret_counter)
{
    char full[NAT_NAME_MAX];
    struct nat_installed *installed = NULL;
    if (nat_name_of(namespace, name, full) == 0)
        installed = nat_installed_find(datapath, full);
    if (!installed)
        return false;
    struct nat_counter sum = { 0 };
    for (uint32_t i = 0; i < NAT_COUNTER_STRIPES; i++) {
        const struct nat_counter *stripe =
            &datapath->counters[installed->id * NAT_COUNTER_STRIPES + i];
        sum.packets += stripe->packets;
        sum.bytes += stripe->bytes;
        sum.flows += stripe->flows;
        sum.refused += stripe->refused;
    }
    *ret_counter = sum;
    return true;
}

static struct nat_refusal refusal_of(const struct nat_refusal_key *key,
                                     const struct nat_refusal_value *value)
{
    return (struct nat_refusal){
        .service = key->service,
        .cause = key->cause,
        .count = value->count,
        .last = nat_packet_seen(&value->last, value->last_ns, value->ifindex),
    };
}

int nat_datapath_refusals(struct nat_datapath *datapath, nat_refusal_list *ret_list)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(datapath, NAT_MAP_REFUSALS, &walk);
    AUTOVEC nat_refusal_list list = { 0 };
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            const struct nat_refusal_key *key = nat_walk_key(&walk, i);
            if (key->cause >= NAT_CAUSE_COUNT)
                continue;
            r = vec_push(&list, refusal_of(key, nat_walk_value(&walk, i)));
            if (r < 0)
                return r;
        }
    }
    if (r < 0)
        return r;
    *ret_list = TAKE_STRUCT(list);
    return 0;
}

/* Adds the packet counts of one load of the programs: for each processor a `struct scratch`,
 * which begins with them. */
static int add_seen(const struct nat_programs *programs, uint64_t packets[static NAT_HOOKS])
{
    const struct bpf_map *map = nat_programs_map(programs, "scratch");
    const int processors = libbpf_num_possible_cpus();
    const uint32_t zero = 0;
    if (!map || processors < 0)
        return map ? processors : -ENOENT;
    const size_t size = (bpf_map__value_size(map) + 7u) & ~7u;
    AUTOFREE uint8_t *rooms = calloc((size_t)processors, size);
    if (!rooms)
        return -ENOMEM;
    if (bpf_map_lookup_elem(bpf_map__fd(map), &zero, rooms) < 0)
        return -errno;
    for (int i = 0; i < processors; i++) {
        struct nat_seen seen;
        memcpy(&seen, rooms + (size_t)i * size, sizeof(seen));
        for (enum nat_hook hook = 0; hook < NAT_HOOKS; hook++)
            packets[hook] += seen.packets[hook];
    }
    return 0;
}

int nat_datapath_seen(const struct nat_datapath *datapath, uint64_t ret_packets[static NAT_HOOKS])
{
    uint64_t packets[NAT_HOOKS] = { 0 };
    int r = add_seen(datapath->live, packets);
    if (r < 0)
        return r;
    if (datapath->bare)
        r = add_seen(datapath->bare, packets);
    if (r < 0)
        return r;
    memcpy(ret_packets, packets, sizeof(packets));
    return 0;
}

static uint64_t count_table(const struct nat_datapath *datapath, enum nat_map_index map)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(datapath, map, &walk);
    uint64_t count = 0;
    while (nat_walk_next(&walk) > 0)
        count += walk.count;
    return count;
}

static uint64_t count_words(const struct nat_datapath *datapath)
{
    uint32_t words = nat_filter_words(datapath);
    const __u64 *half = datapath->filter + datapath->control->filter_half * words;
    uint64_t count = 0;
    for (uint32_t i = 0; i < words; i++)
        count += half[i] != 0;
    return count;
}

/* Ids at rest count as used: they can't be allocated. Id 0 is neither used nor available. */
static void use_of_array(const struct nat_datapath *datapath, enum nat_map_index map,
                         struct nat_map_use *use)
{
    const struct space *spaces = datapath->ids.spaces;
    switch (map) {
    case NAT_MAP_FILTER:
        use->entries = count_words(datapath);
        use->capacity = nat_filter_words(datapath);
        break;
    case NAT_MAP_SERVICES:
        use->entries = spaces[NAT_ID_SERVICE].used - 1;
        use->capacity -= 1;
        break;
    case NAT_MAP_COUNTERS:
        use->entries = NAT_COUNTER_STRIPES * (spaces[NAT_ID_SERVICE].used - 1ull);
        use->capacity -= NAT_COUNTER_STRIPES;
        break;
    case NAT_MAP_PORTS:
        use->entries = NAT_BANKS * (spaces[NAT_ID_PORT].used - 1ull);
        use->capacity -= NAT_BANKS;
        break;
    case NAT_MAP_ENDPOINTS:
    case NAT_MAP_SEARCHES:
        use->entries = spaces[NAT_ID_ENDPOINT].used - 1;
        use->capacity -= 1;
        break;
    case NAT_MAP_SLOTS:
        use->entries = spaces[NAT_ID_SLOT].used;
        break;
    case NAT_MAP_RING: /* a slot has its flow until another takes it */
    case NAT_MAP_CAME:
        use->entries = 0;
        for (enum nat_state state = 0; state < NAT_STATES; state++)
            use->entries += datapath->sweep.last.states[state];
        break;
    default:
        use->entries = use->capacity;
        break;
    }
}

/* The kernel reports the memory of a map as "memlock:" of its descriptor (exact since Linux 6.4).
 */
static uint64_t charged_bytes(int fd)
{
    char path[64];
    size_t size;
    AUTOFREE char *text = NULL;
    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    if (file_read(path, 4096, &text, &size) < 0)
        return 0;
    const char *line = strstr(text, "memlock:");
    return line ? strtoull(line + strlen("memlock:"), NULL, 10) : 0;
}

size_t nat_datapath_maps(struct nat_datapath *datapath,
                         struct nat_map_use use[static NAT_MAP_COUNT])
{
    for (int i = 0; i < NAT_MAP_COUNT; i++) {
        const struct nat_map *map = &datapath->maps[i];
        use[i] = (struct nat_map_use){ .name = nat_map_name(i), .capacity = map->entries };
        use[i].bytes = charged_bytes(map->fd);
        if (map->memory)
            use_of_array(datapath, i, &use[i]);
        else
            use[i].entries = count_table(datapath, i);
    }
    return NAT_MAP_COUNT;
}
