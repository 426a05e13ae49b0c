// SPDX-License-Identifier: Apache-2.0
/* The descriptors that LISTEN_FDS tells of; see activation.h and deploy/systemd/agentd.socket. */
#include "loop/activation.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

int activation_take_socket(void)
{
    int count = sd_listen_fds(1);
    if (count <= 0)
        return count < 0 ? count : -ENOENT;
    if (count == 1 && sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_STREAM, 1, NULL, 0) > 0)
        return SD_LISTEN_FDS_START;
    for (int i = 0; i < count; i++)
        (void)close(SD_LISTEN_FDS_START + i);
    return -EINVAL;
}
