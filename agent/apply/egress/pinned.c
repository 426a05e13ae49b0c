// SPDX-License-Identifier: Apache-2.0
/*
 * Pinned maps of the datapaths of egress. libbpf reuses a pinned map of the same layout. One of
 * another layout is from another version of the agent; its pin is removed and its contents are
 * lost.
 */
#include "apply/egress/pinned.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "apply/nat/hooks/programs.h"
#include "base/cleanup.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/remedy.h"
#include "base/text.h"
#include "faults/egress.h"
#include "faults/raise.h"

#define OURS "egress_"

static bool is_ours(const struct bpf_map *map)
{
    return !bpf_map__is_internal(map) && strncmp(bpf_map__name(map), OURS, strlen(OURS)) == 0;
}

/* Whether a pinned map can be reused; otherwise it is unpinned. */
static int check_pin(const struct bpf_map *map, const char *path)
{
    struct bpf_map_info info = { 0 };
    uint32_t length = sizeof(info);
    AUTOCLOSE int fd = bpf_obj_get(path);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (bpf_obj_get_info_by_fd(fd, &info, &length) < 0)
        return -errno;
    if (info.type == bpf_map__type(map) && info.key_size == bpf_map__key_size(map) &&
        info.value_size == bpf_map__value_size(map) &&
        info.max_entries == bpf_map__max_entries(map) && info.map_flags == bpf_map__map_flags(map))
        return 0;
    return unlink(path) < 0 ? -errno : 0;
}

int pinned_prepare(struct bpf_object *object, const char *folder)
{
    struct bpf_map *map;
    int r = dir_make(folder);
    if (r < 0)
        return r;
    bpf_object__for_each_map(map, object)
    {
        if (!is_ours(map))
            continue;
        AUTOFREE char *path = text_format("%s/%s", folder, bpf_map__name(map));
        if (!path)
            return -ENOMEM;
        r = check_pin(map, path);
        if (r == 0)
            r = bpf_map__set_pin_path(map, path);
        if (r < 0)
            return r;
    }
    return 0;
}

int pinned_share(const struct bpf_object *from, struct bpf_object *to)
{
    struct bpf_map *map;
    bpf_object__for_each_map(map, to)
    {
        int r =
            is_ours(map)
                ? bpf_map__reuse_fd(map, bpf_object__find_map_fd_by_name(from, bpf_map__name(map)))
                : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* Returns 0 or -errno. */
static int pin_again(const struct bpf_map *map, const char *folder)
{
    AUTOFREE char *path = text_format("%s/%s", folder, bpf_map__name(map));
    if (!path)
        return -ENOMEM;
    if (access(path, F_OK) == 0)
        return 0;
    int r = dir_make(folder);
    if (r < 0)
        return r;
    if (bpf_obj_pin(bpf_map__fd(map), path) < 0)
        r = -errno;
    if (r < 0)
        return r;
    log_notice("%s was removed, and is pinned again: without it a restart loses its contents",
               path);
    return 0;
}

void pinned_keep(const struct bpf_object *object, const char *folder, struct faults *faults)
{
    struct bpf_map *map;
    bpf_object__for_each_map(map, object)
    {
        int r = is_ours(map) ? pin_again(map, folder) : 0;
        if (r < 0)
            fault_raise(faults, "egress", egress_map_unpinned, .map = bpf_map__name(map),
                        .reason = strerror(-r), .remedy = remedy_for_file(r));
    }
}

void pinned_explain(int error, struct faults *faults)
{
    const char *remedy =
        error == -EPERM || error == -EACCES ? NAT_CAPABILITIES_REMEDY : "see the log";
    fault_raise(faults, "egress", egress_programs_unavailable, .reason = strerror(-error),
                .remedy = remedy);
}

static size_t array_size(const struct bpf_map *map)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (size_t)bpf_map__max_entries(map) * ((bpf_map__value_size(map) + 7u) & ~7u);
    return (size + page - 1) / page * page;
}

void *pinned_map_array(const struct bpf_map *map)
{
    void *memory =
        mmap(NULL, array_size(map), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void pinned_unmap_array(const struct bpf_map *map, void *memory)
{
    if (memory)
        (void)munmap(memory, array_size(map));
}

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

static int remove_folder(const char *folder)
{
    int removed = 0;
    CLEANUP(close_directory) DIR *directory = opendir(folder);
    if (!directory)
        return errno == ENOENT ? 0 : -errno;
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (strncmp(entry->d_name, OURS, strlen(OURS)) == 0)
            removed += unlinkat(dirfd(directory), entry->d_name, 0) == 0;
    }
    (void)rmdir(folder);
    return removed;
}

/* Whether a folder is "`name`-NUMBER". */
static bool is_layout_of(const char *name, const char *folder)
{
    const size_t length = strlen(name);
    if (strncmp(folder, name, length) != 0 || folder[length] != '-')
        return false;
    const char *number = folder + length + 1;
    return *number && number[strspn(number, "0123456789")] == '\0';
}

int pinned_remove(const char *pins, const char *name)
{
    int removed = 0;
    CLEANUP(close_directory) DIR *directory = opendir(pins);
    if (!directory)
        return errno == ENOENT ? 0 : -errno;
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (!is_layout_of(name, entry->d_name))
            continue;
        AUTOFREE char *folder = text_format("%s/%s", pins, entry->d_name);
        int r = folder ? remove_folder(folder) : -ENOMEM;
        if (r < 0)
            return r;
        removed += r;
    }
    return removed;
}
