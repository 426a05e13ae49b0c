// SPDX-License-Identifier: Apache-2.0
/*
 * Settings below /proc/sys; see sysctl.h. What lies below /proc/sys/net is of the namespace that
 * the process is in when it opens it, whichever /proc is mounted.
 */
#include "cni/sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

int sysctl_write(const char *name, const char *value)
{
    char path[256];
    const size_t prefix = strlen("/proc/sys/");
    int length = snprintf(path, sizeof(path), "/proc/sys/%s", name);
    if (length < 0 || (size_t)length >= sizeof(path))
        return -ENAMETOOLONG;
    const bool by_slashes = name[strcspn(name, "./")] == '/';
    for (char *c = path + prefix; *c && !by_slashes; c++)
        if (*c == '.')
            *c = '/';
    AUTOCLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return write(fd, value, strlen(value)) < 0 ? -errno : 0;
}
