// SPDX-License-Identifier: Apache-2.0
/* The single-instance locks; see lock.h. The file holds the holder's process id for people: a disk
 * too full for it must not keep a node from starting. */
#include "base/files/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/file.h"
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

static socklen_t name_of_network(struct sockaddr_un *address)
{
    static const char name[] = "fingerpost/agentd";
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path + 1, name, sizeof(name) - 1); /* behind a 0: abstract */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name));
}

/* Who listens under the name: -EBUSY if it may be an agent, -EPERM if not. */
static int ask_holder(const struct sockaddr_un *address, socklen_t length, pid_t *ret_holder)
{
    struct ucred holder = { 0 };
    socklen_t size = sizeof(holder);
    AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)address, length) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &size) < 0)
        return -errno;
    *ret_holder = holder.pid;
    return holder.uid == 0 || holder.uid == geteuid() ? -EBUSY : -EPERM;
}

int lock_take_network(pid_t *ret_holder)
{
    struct sockaddr_un address;
    socklen_t length = name_of_network(&address);
    AUTOCLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&address, length) == 0 && listen(fd, 1) == 0)
        return TAKE_FD(fd);
    return errno == EADDRINUSE ? ask_holder(&address, length, ret_holder) : -errno;
}
