// SPDX-License-Identifier: Apache-2.0
/* Whole small files; see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

int file_read(const char *path, size_t limit, char **ret_content, size_t *ret_size)
{
    AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;

    AUTOTEXT struct text content = { 0 };
    char buffer[16 * 1024];
    for (;;) {
        ssize_t n = read(fd, buffer, sizeof(buffer));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        text_add_bytes(&content, buffer, (size_t)n);
        if (content.length > limit)
            return -EFBIG;
    }
    size_t size = content.length;
    char *string = text_take(&content);
    if (!string)
        return -ENOMEM;
    *ret_content = string;
    *ret_size = size;
    return 0;
}

static int write_all(int fd, const char *bytes, size_t count)
{
    while (count) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        bytes += n;
        count -= (size_t)n;
    }
    return fsync(fd) < 0 ? -errno : 0;
}

/* Makes the rename itself outlive a crash. */
static int sync_parent(const char *path)
{
    AUTOFREE char *parent = strdup(path);
    if (!parent)
        return -ENOMEM;
    AUTOCLOSE int fd = open(dirname(parent), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return fsync(fd) < 0 ? -errno : 0;
}

int file_write_atomic(const char *path, const char *content, size_t size)
{
    AUTOFREE char *temporary = text_format("%s.new", path);
    if (!temporary)
        return -ENOMEM;
    AUTOCLOSE int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    int r = write_all(fd, content, size);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlink(temporary);
        return r;
    }
    return sync_parent(path);
}

int dir_make(const char *path)
{
    AUTOFREE char *partial = strdup(path);
    if (!partial)
        return -ENOMEM;
    for (char *slash = strchr(partial + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(partial, 0755) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    struct stat st;
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return -errno;
    if (stat(path, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}
