// SPDX-License-Identifier: Apache-2.0
/*
 * Removes the pins of a datapath's maps, including those of an older layout.
 *
 * The folder of each layout has its number as name; beside it are the links that request
 * defragmentation (defrag.c). The folders of hooks (detach.c) and of egress are removed by other
 * files.
 *
 * The kernel frees a map with its last reference, and a program is a reference, too. A link that
 * loses its pin detaches its program.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "apply/nat/datapath.h"
#include "apply/nat/host/defrag.h"

enum { MAX_DEPTH = 4 };

static void close_folder(DIR **folder)
{
    if (*folder)
        (void)closedir(*folder);
}

static bool is_of_nat(const char *name)
{
    return name[strspn(name, "0123456789")] == '\0' ||
           strncmp(name, NAT_DEFRAG_PIN, strlen(NAT_DEFRAG_PIN)) == 0;
}

/* Returns the number of pins, or -errno. */
static int unpin_below(const char *path, int depth)
{
    CLEANUP(close_folder) DIR *folder = depth < MAX_DEPTH ? opendir(path) : NULL;
    if (!folder)
        return depth < MAX_DEPTH ? -errno : -ELOOP;
    int count = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        char below[PATH_MAX];
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (depth == 0 && !is_of_nat(entry->d_name)))
            continue;
        if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >= (int)sizeof(below))
            return -ENAMETOOLONG;
        if (lstat(below, &status) < 0)
            return -errno;
        bool is_folder = S_ISDIR(status.st_mode);
        int r = is_folder ? unpin_below(below, depth + 1) : 1;
        if (r < 0)
            return r;
        if ((is_folder ? rmdir(below) : unlink(below)) < 0)
            return -errno;
        count += r;
    }
    return count;
}

int nat_datapath_unpin(const char *pins)
{
    int r = unpin_below(pins, 0);
    return r == -ENOENT ? 0 : r;
}
