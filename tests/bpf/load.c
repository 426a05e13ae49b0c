// SPDX-License-Identifier: Apache-2.0
/*
 * load OBJECT FOLDER: loads the programs of an object and pins them below FOLDER of a bpffs, for
 * the tests in Python, which have no libbpf: maps/NAME, live/NAME, and where there is a dry_run,
 * the twins with the same maps at twin/NAME. Maps are made small, since each of the processes
 * that run tests has its own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"

DEFINE_CLEANUP(struct bpf_object *, bpf_object__close);

enum { MAP_ENTRIES = 4096 };

static int set_dry_run(struct bpf_object *object)
{
    const __u32 on = 1;

    return bpf_map__set_initial_value(bpf_object__find_map_by_name(object, ".rodata.twin"), &on,
                                      sizeof(on));
}

static int share_maps(struct bpf_object *twin, const struct bpf_object *live)
{
    struct bpf_map *map;

    bpf_object__for_each_map(map, twin)
    {
        const char *name = bpf_map__name(map);

        if (bpf_map__is_internal(map))
            continue;
        int r = bpf_map__reuse_fd(map, bpf_object__find_map_fd_by_name(live, name));
        if (r < 0)
            return r;
    }
    return 0;
}

static int limit_maps(struct bpf_object *object)
{
    struct bpf_map *map;

    bpf_object__for_each_map(map, object)
    {
        if (bpf_map__is_internal(map) || bpf_map__max_entries(map) <= MAP_ENTRIES ||
            strcmp(bpf_map__name(map), "egress_pins") == 0) /* whose size programs know */
            continue;
        int r = bpf_map__set_max_entries(map, MAP_ENTRIES);
        if (r < 0)
            return r;
    }
    return 0;
}

static int pin_maps(struct bpf_object *object, const char *folder)
{
    char path[4096];
    struct bpf_map *map;

    bpf_object__for_each_map(map, object)
    {
        if (bpf_map__is_internal(map))
            continue;
        snprintf(path, sizeof(path), "%s/maps/%s", folder, bpf_map__name(map));
        int r = bpf_map__pin(map, path);
        if (r < 0)
            return r;
    }
    return 0;
}

static int pin_programs(struct bpf_object *object, const char *folder, const char *kind)
{
    char path[4096];
    struct bpf_program *program;

    bpf_object__for_each_program(program, object)
    {
        snprintf(path, sizeof(path), "%s/%s/%s", folder, kind, bpf_program__name(program));
        int r = bpf_program__pin(program, path);
        if (r < 0)
            return r;
    }
    return 0;
}

static int load_all(const char *file, const char *folder)
{
    CLEANUP(bpf_object__closep) struct bpf_object *live = bpf_object__open_file(file, NULL);
    int r;

    if (!live)
        return -errno;
    r = limit_maps(live);
    if (r < 0)
        return r;
    r = bpf_object__load(live);
    if (r < 0)
        return r;
    r = pin_maps(live, folder);
    if (r < 0)
        return r;
    r = pin_programs(live, folder, "live");
    if (r < 0 || !bpf_object__find_map_by_name(live, ".rodata.twin"))
        return r;

    CLEANUP(bpf_object__closep) struct bpf_object *twin = bpf_object__open_file(file, NULL);
    if (!twin)
        return -errno;
    r = limit_maps(twin);
    if (r < 0)
        return r;
    r = share_maps(twin, live);
    if (r < 0)
        return r;
    r = set_dry_run(twin);
    if (r < 0)
        return r;
    r = bpf_object__load(twin);
    return r < 0 ? r : pin_programs(twin, folder, "twin");
}

int main(int argc, char **argv)
{
    int r;

    if (argc != 3) {
        fprintf(stderr, "usage: load OBJECT FOLDER\n");
        return 2;
    }
    r = load_all(argv[1], argv[2]);
    if (r < 0) {
        fprintf(stderr, "load: %s: %s\n", argv[1], strerror(-r));
        return 1;
    }
    return 0;
}
