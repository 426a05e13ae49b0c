// SPDX-License-Identifier: Apache-2.0
/*
 * Numbers of namespaces by rtnetlink; see netns.h. The kernel assigns one when it first has to
 * report a link's peer (IFLA_LINK_NETNSID), and does not change it as long as that namespace
 * exists.
 */
#include "apply/netlink/netns.h"

#include <linux/net_namespace.h>

static int on_row(const struct nlmsghdr *row, void *context)
{
    const struct nl_wanted wanted[] = { { NETNSA_NSID, sizeof(int32_t) } };
    const struct nlattr *attributes[NETNSA_NSID + 1];
    if (row->nlmsg_type != RTM_NEWNSID)
        return 0;
    nl_parse(row, sizeof(struct rtgenmsg), wanted, 1, attributes, NETNSA_NSID);
    if (attributes[NETNSA_NSID])
        *(int32_t *)context = (int32_t)mnl_attr_get_u32(attributes[NETNSA_NSID]);
    return 0;
}

int nl_netns_number(struct nl_socket *socket, int netns, int32_t *ret_number)
{
    const struct rtgenmsg fixed = { .rtgen_family = AF_UNSPEC };
    struct nl_request request;
    int32_t number = -1;
    nl_begin(&request, RTM_GETNSID, 0, &fixed, sizeof(fixed));
    nl_put_u32(&request, NETNSA_FD, (uint32_t)netns);
    int r = nl_get(socket, &request, on_row, &number);
    if (r < 0)
        return r;
    *ret_number = number;
    return 0;
}
