// SPDX-License-Identifier: Apache-2.0
/*
 * The pins of TCX links: one file for each place, FOLDER/IFINDEX-ingress or -egress. hooks.c pins
 * the links that it attaches, detach.c removes all pins without a daemon.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/nat/hooks/pins.h"
#include "base/files/file.h"
#include "base/macro.h"
#include "base/text.h"

static char *pin_path(const char *folder, const struct nat_place *place)
{
    return text_format("%s/%u-%s", folder, place->ifindex, nat_direction_name(place->direction));
}

/* The place of a file name; false: the file is not ours. */
static bool pin_place(const char *name, struct nat_place *ret_place)
{
    for (int direction = NAT_INGRESS; direction <= NAT_EGRESS; direction++) {
        char *end;
        unsigned long ifindex = strtoul(name, &end, 10);
        if (end == name || *end != '-' || ifindex == 0 || ifindex > INT32_MAX ||
            strcmp(end + 1, nat_direction_name((enum nat_direction)direction)) != 0)
            continue;
        *ret_place = (struct nat_place){ .ifindex = (uint32_t)ifindex,
                                         .direction = (enum nat_direction)direction };
        return true;
    }
    return false;
}

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

int nat_pins_list(const char *folder, nat_place_list *places)
{
    CLEANUP(close_directory) DIR *directory = opendir(folder);
    if (!directory)
        return errno == ENOENT ? 0 : -errno;
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        struct nat_place place;
        int r = pin_place(entry->d_name, &place) ? vec_push(places, place) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

int64_t nat_pins_changed_ns(const char *folder)
{
    struct stat stat_;
    if (stat(folder, &stat_) < 0)
        return 0;
    return (int64_t)stat_.st_mtim.tv_sec * 1000000000 + stat_.st_mtim.tv_nsec;
}

int nat_pin_open(const char *folder, const struct nat_place *place)
{
    AUTOFREE char *path = pin_path(folder, place);
    return path ? bpf_obj_get(path) : -ENOMEM;
}

void nat_pin_remove(const char *folder, const struct nat_place *place)
{
    AUTOFREE char *path = pin_path(folder, place);
    if (path)
        (void)unlink(path);
}

int nat_pin_link(const char *folder, const struct nat_place *place, int link)
{
    AUTOFREE char *path = pin_path(folder, place);
    if (!path)
        return -ENOMEM;
    int r = dir_make(folder);
    if (r < 0)
        return r;
    (void)unlink(path);
    return bpf_obj_pin(link, path);
}
