// SPDX-License-Identifier: Apache-2.0
/* Files; see file.h. */
#include "base/files/file.h"

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

int file_write(int fd, const char *bytes, size_t count)
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
    return 0;
}

/* The folder that holds a path, open. Returns the descriptor or -errno. */
static int open_parent(const char *path)
{
    AUTOFREE char *parent = strdup(path);
    if (!parent)
        return -ENOMEM;
    int fd = open(dirname(parent), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The folder is synced, too, so that the rename itself outlives a crash. */
int file_replace(const char *temporary, const char *path)
{
    AUTOCLOSE int parent = open_parent(path);
    if (parent < 0)
        return parent;
    return rename(temporary, path) < 0 || fsync(parent) < 0 ? -errno : 0;
}

static int write_and_replace(int fd, const char *temporary, const char *path, const char *content,
                             size_t size)
{
    int r = file_write(fd, content, size);
    if (r < 0)
        return r;
    if (fsync(fd) < 0)
        return -errno;
    return file_replace(temporary, path);
}

int file_write_atomic(const char *path, const char *content, size_t size)
{
    AUTOFREE char *temporary = text_format("%s.new", path);
    if (!temporary)
        return -ENOMEM;
    AUTOCLOSE int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    int r = write_and_replace(fd, temporary, path, content, size);
    if (r < 0)
        (void)unlink(temporary);
    return r;
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
