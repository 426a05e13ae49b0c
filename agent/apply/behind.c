// SPDX-License-Identifier: Apache-2.0
/*
 * The addresses behind a veth; see behind.h.
 *
 * The kernel dumps addresses of another namespace for a request that has the namespace's number
 * (IFA_TARGET_NETNSID, Linux 4.20). When a namespace ends, its number is assigned to the next one;
 * so the veth is read before and after the dump, and the result is valid if the veth's peer is
 * still in the same place.
 */
#include "apply/behind.h"

#include <errno.h>
#include <string.h>

#include "apply/netlink/link.h"
#include "base/macro.h"

static bool has_other_end(const struct nl_link *link)
{
    return strcmp(link->kind, "veth") == 0 && link->peer && link->peer_nsid >= 0;
}

int behind_read(struct nl_socket *socket, uint32_t ifindex, nl_address_list *ret_addresses)
{
    AUTOVEC nl_address_list addresses = { 0 };
    struct nl_link before, after;
    int r = nl_link_read(socket, ifindex, &before);
    if (r < 0)
        return r;
    if (has_other_end(&before))
        r = nl_address_dump_of(socket, before.peer_nsid, before.peer, BEHIND_MAX, &addresses);
    if (r == -EINVAL) /* no namespace has this number any more */
        return -ENODEV;
    if (r == 0)
        r = nl_link_read(socket, ifindex, &after);
    if (r < 0)
        return r;
    if (after.peer != before.peer || after.peer_nsid != before.peer_nsid)
        return -EAGAIN;
    *ret_addresses = TAKE_STRUCT(addresses);
    return 0;
}
