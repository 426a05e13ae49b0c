// SPDX-License-Identifier: Apache-2.0
/*
 * BIRD's netlink buffer; see bird_buffer.h. Called by check_bird.c.
 *
 * BIRD does not tell its own, but the kernel does: sock_diag(7) lists the netlink sockets of this
 * network namespace with their memory, and /proc has which of them are a process's, by inode. The
 * kernel counts twice what was asked for, since it counts its own overhead in.
 */
#include "doctor/bird_buffer.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/netlink_diag.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apply/netlink/nl.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/vec.h"

typedef VEC(uint32_t) inode_list;

/* What the dump tells of the sockets that are the process's. */
struct look {
    const inode_list *inodes;
    bool found;
    uint32_t largest;
};

static void closedirp(DIR **folder)
{
    if (*folder)
        (void)closedir(*folder);
}

static int read_inodes(pid_t pid, inode_list *ret_inodes)
{
    char path[64], target[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    CLEANUP(closedirp) DIR *folder = opendir(path);
    if (!folder)
        return -errno;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        uint32_t inode;
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        target[MAX(length, 0)] = '\0';
        if (sscanf(target, "socket:[%" SCNu32 "]", &inode) == 1 && vec_push(ret_inodes, inode) < 0)
            return -ENOMEM;
    }
    return 0;
}

static bool is_its(const struct look *look, uint32_t inode)
{
    vec_each(const uint32_t, it, look->inodes) {
        if (*it == inode)
            return true;
    }
    return false;
}

/* One that is in no group hears nothing: requests go by it. */
static int on_socket(const struct nlmsghdr *row, void *context)
{
    struct look *look = context;
    const struct nlattr *groups = NULL, *memory = NULL;
    struct netlink_diag_msg message;
    if (mnl_nlmsg_get_payload_len(row) < sizeof(message))
        return 0;
    memcpy(&message, mnl_nlmsg_get_payload(row), sizeof(message));
    for (const struct nlattr *at = NULL; (at = nl_next_attribute(row, sizeof(message), at));) {
        if (mnl_attr_get_type(at) == NETLINK_DIAG_GROUPS)
            groups = at;
        else if (mnl_attr_get_type(at) == NETLINK_DIAG_MEMINFO)
            memory = at;
    }
    if (!groups || !memory || !is_its(look, message.ndiag_ino) ||
        mnl_attr_get_payload_len(memory) < sizeof(uint32_t) * (SK_MEMINFO_RCVBUF + 1))
        return 0;
    uint32_t values[SK_MEMINFO_RCVBUF + 1];
    memcpy(values, mnl_attr_get_payload(memory), sizeof(values));
    look->found = true;
    look->largest = MAX(look->largest, values[SK_MEMINFO_RCVBUF] / 2);
    return 0;
}

int bird_buffer_read(pid_t pid, uint32_t *ret_bytes)
{
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    AUTOVEC inode_list inodes = { 0 };
    struct look look = { .inodes = &inodes };
    const struct netlink_diag_req fixed = {
        .sdiag_family = AF_NETLINK,
        .sdiag_protocol = NETLINK_ROUTE,
        .ndiag_show = NDIAG_SHOW_MEMINFO | NDIAG_SHOW_GROUPS,
    };
    struct nl_request request;
    int r = read_inodes(pid, &inodes);
    if (r < 0)
        return r;
    r = nl_open_in(NL_HERE, NETLINK_SOCK_DIAG, &socket);
    if (r < 0)
        return r;
    nl_begin(&request, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &fixed, sizeof(fixed));
    r = nl_dump(socket, &request, on_socket, NULL, &look);
    if (r < 0)
        return r;
    *ret_bytes = look.largest;
    return look.found ? 0 : -ENOENT;
}
