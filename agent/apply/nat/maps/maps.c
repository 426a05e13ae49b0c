// SPDX-License-Identifier: Apache-2.0
/*
 * The maps as kernel objects: their sizes, their pins, their mappings.
 *
 * The agent adopts a pinned map with the wanted layout unchanged. It replaces a map of another
 * size: the contents are copied as far as they fit, and the new pin is renamed over the old one, so
 * that a crash leaves one of the two. A filter of another size is filled again (adopt.c), since
 * every word has another place in it. "control" is replaced together with "filter", because it has
 * the filter's length and says which half is in force. Ids are indexes and do not change; adopt.c
 * removes entries that no longer fit.
 *
 * Attached programs keep using the maps with which they were loaded. The flows that they add after
 * the copy are copied by nat_datapath_settle(), once the hooks have the new programs.
 *
 * bpffs refuses names with a dot (Linux, bpf_lookup()), hence the suffix "-new".
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/hooks/pins.h"
#include "apply/nat/hooks/programs.h"
#include "apply/nat/maps/maps.h"
#include "apply/nat/maps/walk.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/remedy.h"
#include "faults/nat.h"
#include "faults/raise.h"

#define NAT_MAP_NAME(NAME, name) [NAT_MAP_##NAME] = #name,
static const char *const names[] = { NAT_MAPS(NAT_MAP_NAME) };
#undef NAT_MAP_NAME

/* The filter is one value, and the kernel accepts no value above INT_MAX bytes. */
enum { FILTER_WORDS_MAX = 1 << 26 };

const char *nat_map_name(enum nat_map_index map)
{
    return names[map];
}

uint32_t nat_filter_words(const struct nat_datapath *datapath)
{
    return datapath->maps[NAT_MAP_FILTER].value_size / sizeof(__u64) / 2;
}

/* Words in each half of the filter: one for about eight things, each of which sets two bits. */
static uint32_t filter_words(const struct nat_datapath_options *options)
{
    uint64_t things = options->max_services * 4ull + options->max_endpoints * 2ull;
    uint32_t words = 64;
    while (words < things / 8 && words < FILTER_WORDS_MAX)
        words *= 2;
    return words;
}

/*
 * Id 0 is not in use, so an array by id has one entry more than there are ids. A Service has two
 * ports on average, each in two banks. An endpoint may be in both sets, and a block of slots has up
 * to twice the room that its set needs. 0: the size of the map in bpf/service/maps.h.
 */
static uint32_t wanted_entries(enum nat_map_index map, const struct nat_datapath_options *options)
{
    switch (map) {
    case NAT_MAP_FRONTENDS:
    case NAT_MAP_RANGES:
        return 4 * options->max_services;
    case NAT_MAP_SERVICES:
        return options->max_services + 1;
    case NAT_MAP_PORTS:
        return NAT_BANKS * (2 * options->max_services + 1);
    case NAT_MAP_SLOTS:
        return 4 * options->max_endpoints;
    case NAT_MAP_ENDPOINTS:
        return options->max_endpoints + 1;
    case NAT_MAP_FLOWS:
        return 2 * options->max_flows;
    case NAT_MAP_RING:
    case NAT_MAP_CAME:
        return options->max_flows;
    case NAT_MAP_SEARCHES:
        return options->max_endpoints + 1;
    case NAT_MAP_AFFINITY:
        return MAX(1024u, options->max_flows / 4);
    case NAT_MAP_COUNTERS:
        return (options->max_services + 1) * NAT_COUNTER_STRIPES;
    case NAT_MAP_NAMES:
        return options->max_services;
    default:
        return 0;
    }
}

static const char *pin_path(const struct nat_datapath *datapath, enum nat_map_index index,
                            const char *suffix, char path[static PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/%s%s", datapath->pins, names[index], suffix);
    return path;
}

static bool is_array(const struct nat_map *map)
{
    return map->type == BPF_MAP_TYPE_ARRAY;
}

/* Adopts a pinned map, or keeps it open to copy from. Returns 0 or -errno. */
static int look_at_pin(struct nat_datapath *datapath, enum nat_map_index index,
                       struct bpf_map *object)
{
    char path[PATH_MAX];
    struct nat_map *map = &datapath->maps[index];
    AUTOCLOSE int fd = bpf_obj_get(pin_path(datapath, index, "", path));
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    struct bpf_map_info info = { 0 };
    uint32_t length = sizeof(info);
    if (bpf_obj_get_info_by_fd(fd, &info, &length) < 0)
        return -errno;

    bool same_kind = info.type == map->type && info.key_size == map->key_size &&
                     info.value_size == map->value_size;
    /* A control describes one filter: its length, and which half is in force. */
    bool apart = index == NAT_MAP_CONTROL && !datapath->maps[NAT_MAP_FILTER].pinned;
    if (same_kind && !apart && info.map_flags == map->flags && info.max_entries == map->entries) {
        map->pinned = true;
        return bpf_map__reuse_fd(object, fd);
    }
    if (same_kind) {
        map->old_fd = TAKE_FD(fd);
        map->old_entries = info.max_entries;
    }
    return 0;
}

/* Returns 0 or -errno. */
static int set_size(struct bpf_map *object, enum nat_map_index index,
                    const struct nat_datapath_options *options)
{
    if (index == NAT_MAP_FILTER)
        return bpf_map__set_value_size(object, 2 * filter_words(options) * sizeof(__u64));
    uint32_t entries = wanted_entries(index, options);
    return entries ? bpf_map__set_max_entries(object, entries) : 0;
}

static int prepare(struct nat_datapath *datapath, enum nat_map_index index,
                   const struct nat_datapath_options *options)
{
    struct bpf_map *object = nat_programs_map(datapath->live, names[index]);
    if (!object)
        return -ENOENT;
    int r = set_size(object, index, options);
    if (r < 0)
        return r;
    struct nat_map *map = &datapath->maps[index];
    map->type = bpf_map__type(object);
    map->flags = bpf_map__map_flags(object);
    map->key_size = bpf_map__key_size(object);
    map->value_size = bpf_map__value_size(object);
    map->entries = bpf_map__max_entries(object);
    return datapath->pins ? look_at_pin(datapath, index, object) : 0;
}

/* Returns 0 if the deepest folder of `path` that exists is on a bpf file system, -ENOTSUP, -errno.
 */
static int check_bpffs(const char *path)
{
    char folder[PATH_MAX];
    struct statfs fs;
    (void)snprintf(folder, sizeof(folder), "%s", path);
    while (statfs(folder, &fs) < 0) {
        char *slash = strrchr(folder, '/');
        if (errno != ENOENT)
            return -errno;
        if (!slash || slash == folder)
            return -ENOTSUP;
        *slash = '\0';
    }
    return fs.f_type == BPF_FS_MAGIC ? 0 : -ENOTSUP;
}

static void tell_no_bpffs(const struct nat_datapath *datapath, struct faults *faults)
{
    fault_raise(faults, datapath->root, nat_pins_without_bpffs);
}

/* An agent that is not root, or confined, needs a folder that exists (deploy/tmpfiles.d). */
static int make_folder(struct nat_datapath *datapath, struct faults *faults)
{
    int r = check_bpffs(datapath->pins);
    if (r == -ENOTSUP) {
        tell_no_bpffs(datapath, faults);
        return r;
    }
    if (r == 0)
        r = dir_make(datapath->pins);
    if (r < 0)
        fault_raise(faults, datapath->root, nat_pins_unusable, .reason = strerror(-r));
    return r;
}

static void explain(enum nat_map_index index, int error, struct faults *faults)
{
    const char *remedy = remedy_for_kernel(error);
    if (error == -EPERM)
        remedy = NAT_CAPABILITIES_REMEDY;
    else if (error == -EACCES)
        remedy = "another user has pinned it: make what is below paths.bpf the agent's own (chown)";
    fault_raise(faults, "service NAT", nat_map_unopened, .map = names[index],
                .reason = strerror(-error), .remedy = remedy);
}

int nat_maps_prepare(struct nat_datapath *datapath, const struct nat_datapath_options *options,
                     struct faults *faults)
{
    int r = datapath->pins ? make_folder(datapath, faults) : 0;
    if (r < 0)
        return r;
    for (int i = NAT_MAP_COUNT; i-- > 0;) { /* backwards: the control after its filter */
        r = prepare(datapath, i, options);
        if (r < 0) {
            explain(i, r, faults);
            return r;
        }
    }
    return 0;
}

static size_t array_size(const struct nat_map *map, uint32_t entries)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (size_t)entries * ((map->value_size + 7u) & ~7u);
    return (size + page - 1) / page * page;
}

static void *map_array(const struct nat_map *map, int fd, uint32_t entries, int protection)
{
    void *memory = mmap(NULL, array_size(map, entries), protection, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static int copy_array(struct nat_map *map)
{
    void *old = map_array(map, map->old_fd, map->old_entries, PROT_READ);
    if (!old)
        return -errno;
    uint32_t entries = MIN(map->entries, map->old_entries);
    memcpy(map->memory, old, (size_t)entries * ((map->value_size + 7u) & ~7u));
    (void)munmap(old, array_size(map, map->old_entries));
    return 0;
}

/* An entry that the map already has is kept. Entries for which there is no room are not copied. */
static int copy_table(struct nat_map *map)
{
    AUTOWALK struct nat_walk walk;
    nat_walk_start(&walk, map->old_fd, map->key_size, map->value_size);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            if (bpf_map_update_elem(map->fd, nat_walk_key(&walk, i), nat_walk_value(&walk, i),
                                    BPF_NOEXIST) < 0 &&
                errno != EEXIST)
                return errno == E2BIG || errno == ENOSPC ? 0 : -errno;
        }
    }
    return r;
}

static int copy_old(struct nat_map *map)
{
    if (map->old_fd < 0)
        return 0;
    return map->memory ? copy_array(map) : copy_table(map);
}

static int pin_as(const struct nat_datapath *datapath, enum nat_map_index index)
{
    char fresh[PATH_MAX], path[PATH_MAX];
    pin_path(datapath, index, "-new", fresh);
    (void)unlink(fresh); /* left by a crash */
    int r = bpf_obj_pin(datapath->maps[index].fd, fresh);
    if (r < 0)
        return r;
    return rename(fresh, pin_path(datapath, index, "", path)) < 0 ? -errno : 0;
}

static int pin(struct nat_datapath *datapath, enum nat_map_index index)
{
    return datapath->pins && !datapath->maps[index].pinned ? pin_as(datapath, index) : 0;
}

static int finish(struct nat_datapath *datapath, enum nat_map_index index)
{
    struct nat_map *map = &datapath->maps[index];
    map->fd = bpf_map__fd(nat_programs_map(datapath->live, names[index]));
    if (is_array(map)) {
        map->memory = map_array(map, map->fd, map->entries, PROT_READ | PROT_WRITE);
        if (!map->memory)
            return -errno;
    }
    return copy_old(map);
}

/* Calls a function for each map. Returns 0, or -errno, and then the index of the map. */
static int each_map(struct nat_datapath *datapath,
                    int (*act)(struct nat_datapath *, enum nat_map_index), int *ret_failed)
{
    for (*ret_failed = 0; *ret_failed < NAT_MAP_COUNT; ++*ret_failed) {
        int r = act(datapath, *ret_failed);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Removed by another program, maybe with its folder; the open descriptor keeps the map. */
static int pin_again(struct nat_datapath *datapath, enum nat_map_index index)
{
    char path[PATH_MAX];
    if (!datapath->pins || access(pin_path(datapath, index, "", path), F_OK) == 0)
        return 0;
    int r = dir_make(datapath->pins);
    if (r < 0)
        return r;
    r = pin_as(datapath, index);
    if (r < 0)
        return r;
    log_notice("%s was removed, and is pinned again: without it a restart loses its contents",
               path);
    return 0;
}

/* The maps are in use, and remain so without pins. */
static int repair_pins(struct nat_datapath *datapath, struct faults *faults)
{
    int failed, r = each_map(datapath, pin_again, &failed);
    if (r < 0)
        fault_raise(faults, "service NAT", nat_map_unpinned, .map = names[failed],
                    .reason = strerror(-r), .remedy = remedy_for_kernel(r));
    return r;
}

/* The folder's time shows whether a pin changed; after a dozen checks, the pins are checked too. */
static bool pins_are_well(struct nat_datapath *datapath, int64_t changed_ns)
{
    enum { LOOKS_MOST = 12 };
    return changed_ns && changed_ns == datapath->pins_well_ns &&
           ++datapath->pins_looks < LOOKS_MOST;
}

void nat_datapath_keep_pins(struct nat_datapath *datapath, struct faults *faults)
{
    const int64_t changed_ns = datapath->pins ? nat_pins_changed_ns(datapath->pins) : 0;
    if (pins_are_well(datapath, changed_ns))
        return;
    datapath->pins_well_ns = datapath->pins_looks = 0;
    if (!nat_datapath_may_pin(datapath))
        tell_no_bpffs(datapath, faults);
    else if (datapath->pins && dir_make(datapath->pins) == 0 && repair_pins(datapath, faults) == 0)
        datapath->pins_well_ns = changed_ns; /* the time before the pins were checked */
}

bool nat_datapath_may_pin(const struct nat_datapath *datapath)
{
    return !datapath->pins || check_bpffs(datapath->pins) != -ENOTSUP;
}

/* So that a process that later finds the filter pinned knows that it is not filled yet. */
static void forget_filter(const struct nat_datapath *datapath)
{
    struct nat_control *control = datapath->maps[NAT_MAP_CONTROL].memory;
    if (!datapath->maps[NAT_MAP_FILTER].pinned)
        control->filter_words = 0;
}

static int finish_each(struct nat_datapath *datapath,
                       int (*act)(struct nat_datapath *, enum nat_map_index), const char *done,
                       struct faults *faults)
{
    int failed, r = each_map(datapath, act, &failed);
    if (r < 0)
        fault_raise(faults, "service NAT", nat_map_unfinished, .map = names[failed], .done = done,
                    .reason = strerror(-r), .remedy = remedy_for_kernel(r));
    return r;
}

int nat_maps_finish(struct nat_datapath *datapath, struct faults *faults)
{
    int r = finish_each(datapath, finish, "set up", faults);
    if (r < 0)
        return r;
    forget_filter(datapath);
    r = finish_each(datapath, pin, "pinned", faults);
    if (r < 0)
        return r;
    datapath->control = datapath->maps[NAT_MAP_CONTROL].memory;
    datapath->filter = datapath->maps[NAT_MAP_FILTER].memory;
    datapath->services = datapath->maps[NAT_MAP_SERVICES].memory;
    datapath->ports = datapath->maps[NAT_MAP_PORTS].memory;
    datapath->slots = datapath->maps[NAT_MAP_SLOTS].memory;
    datapath->endpoints = datapath->maps[NAT_MAP_ENDPOINTS].memory;
    datapath->counters = datapath->maps[NAT_MAP_COUNTERS].memory;
    datapath->pressure = datapath->maps[NAT_MAP_PRESSURE].memory;
    datapath->peers = datapath->maps[NAT_MAP_PEERS].memory;
    return 0;
}

int nat_maps_share(const struct nat_datapath *datapath, struct nat_programs *programs)
{
    for (int i = 0; i < NAT_MAP_COUNT; i++) {
        int r = bpf_map__reuse_fd(nat_programs_map(programs, names[i]), datapath->maps[i].fd);
        if (r < 0)
            return r;
    }
    return 0;
}

int nat_datapath_settle(struct nat_datapath *datapath)
{
    for (int i = 0; i < NAT_MAP_COUNT; i++) {
        struct nat_map *map = &datapath->maps[i];
        if (map->old_fd < 0)
            continue;
        if (i == NAT_MAP_FLOWS || i == NAT_MAP_AFFINITY) {
            int r = copy_table(map);
            if (r < 0)
                return r;
        }
        (void)close(map->old_fd);
        map->old_fd = -1;
    }
    return 0;
}

void nat_maps_close(struct nat_datapath *datapath)
{
    for (int i = 0; i < NAT_MAP_COUNT; i++) {
        struct nat_map *map = &datapath->maps[i];
        if (map->memory)
            (void)munmap(map->memory, array_size(map, map->entries));
        closep(&map->old_fd);
    }
}
