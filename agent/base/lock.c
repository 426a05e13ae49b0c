// SPDX-License-Identifier: Apache-2.0
/* The single-instance lock; see lock.h. The file holds the holder's process id for people: a disk
 * too full for it must not keep a node from starting. */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

int lock_take(const char *state_directory, pid_t *ret_holder)
{
    int r = dir_make(state_directory);
    if (r < 0)
        return r;
    AUTOFREE char *path = text_format("%s/lock", state_directory);
    if (!path)
        return -ENOMEM;
    AUTOCLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        char holder[32] = "";
        r = errno == EWOULDBLOCK ? -EBUSY : -errno;
        (void)!pread(fd, holder, sizeof(holder) - 1, 0);
        *ret_holder = (pid_t)strtol(holder, NULL, 10);
        return r;
    }
    if (ftruncate(fd, 0) == 0)
        (void)dprintf(fd, "%d\n", (int)getpid());
    return TAKE_FD(fd);
}
