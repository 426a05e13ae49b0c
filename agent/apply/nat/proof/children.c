// SPDX-License-Identifier: Apache-2.0
/*
 * Children of an interface; see children.h. The proof calls this when an endpoint of this node is
 * reached by an uplink, which is rare; so sockets are opened for each call.
 *
 * A pod's child is in the pod's network namespace, which is not visible from here. But a macvlan
 * child has a MAC address of its own, which it adds to those that the parent accepts (macvlan.c of
 * Linux, macvlan_open()). The kernel returns these as the parent's own entries of a forwarding
 * table (ndo_dflt_fdb_dump(); `bridge fdb show dev eth0` has them as "self permanent"). A MAC
 * address that no interface of this namespace has belongs to an interface in another one. VLANs and
 * keepalived's macvlans add theirs, too, and are found here; the remote ends of a VXLAN device have
 * an address (NDA_DST) or a next hop.
 *
 * An ipvlan child has its parent's MAC address: it is visible only if it is in this namespace (6.1:
 * one elsewhere adds at most groups of IPv6). Then other children of the same parent are ipvlan,
 * too, since all children of a parent have the same kind. A macvlan child of mode passthru has no
 * MAC address of its own either, and one that is down accepts no packets.
 */
#include "apply/nat/proof/children.h"

#include <linux/neighbour.h>
#include <string.h>
#include <sys/socket.h>

#include "apply/netlink/link.h"
#include "base/macro.h"
#include "base/vec.h"

struct mac {
    uint8_t bytes[6];
};

struct looking {
    uint32_t ifindex;
    VEC(struct mac) stale; /* accepted by the interface, and of no known interface here */
    bool ipvlan;           /* it has such a child in this namespace */
};

static void looking_done(struct looking *looking)
{
    vec_done(&looking->stale);
}

static bool is_plain(const struct nlmsghdr *row)
{
    const struct nlattr *it = NULL;
    while ((it = nl_next_attribute(row, sizeof(struct ndmsg), it))) {
        if (mnl_attr_get_type(it) == NDA_DST || mnl_attr_get_type(it) == NDA_NH_ID)
            return false;
    }
    return true;
}

static int on_entry(const struct nlmsghdr *row, void *context)
{
    static const struct nl_wanted wanted[] = { { NDA_LLADDR, sizeof(struct mac) } };
    struct looking *looking = context;
    const struct ndmsg *fixed = mnl_nlmsg_get_payload(row);
    const struct nlattr *attributes[NDA_LLADDR + 1];
    struct mac mac;
    if (mnl_nlmsg_get_payload_len(row) < sizeof(*fixed) || fixed->ndm_family != AF_BRIDGE ||
        (uint32_t)fixed->ndm_ifindex != looking->ifindex || !(fixed->ndm_flags & NTF_SELF) ||
        !(fixed->ndm_state & NUD_PERMANENT) || !is_plain(row))
        return 0;
    nl_parse(row, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, NDA_LLADDR);
    if (!attributes[NDA_LLADDR])
        return 0;
    memcpy(&mac, mnl_attr_get_payload(attributes[NDA_LLADDR]), sizeof(mac));
    return mac.bytes[0] & 1 ? 0 : vec_push(&looking->stale, mac); /* 1: of a group */
}

static void restart(void *context)
{
    struct looking *looking = context;
    looking->stale.count = 0;
}

static int on_link(const struct nlmsghdr *row, void *context)
{
    struct looking *looking = context;
    struct nl_link link;
    size_t kept = 0;
    if (!nl_link_decode(row, &link))
        return 0;
    vec_each(const struct mac, mac, &looking->stale) {
        if (memcmp(mac->bytes, link.mac, sizeof(link.mac)) != 0)
            looking->stale.items[kept++] = *mac;
    }
    looking->stale.count = kept;
    looking->ipvlan |= link.peer == looking->ifindex && link.peer_nsid < 0 &&
                       (strcmp(link.kind, "ipvlan") == 0 || strcmp(link.kind, "ipvtap") == 0);
    return 0;
}

static int look(struct nl_socket *socket, struct looking *looking)
{
    const struct ndmsg entries = { .ndm_family = AF_BRIDGE };
    const struct ifinfomsg links = { .ifi_family = AF_UNSPEC };
    struct nl_request request;
    nl_begin(&request, RTM_GETNEIGH, 0, &entries, sizeof(entries));
    nl_put_u32(&request, NDA_IFINDEX, looking->ifindex);
    int r = nl_dump(socket, &request, on_entry, restart, looking);
    if (r < 0)
        return r;
    nl_begin(&request, RTM_GETLINK, 0, &links, sizeof(links));
    nl_put_u32(&request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    return nl_dump(socket, &request, on_link, NULL, looking);
}

enum nat_children nat_children_of(uint32_t ifindex)
{
    CLEANUP(looking_done) struct looking looking = { .ifindex = ifindex };
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    int r = nl_open(&socket);
    if (r == 0)
        r = look(socket, &looking);
    if (r < 0)
        return NAT_CHILDREN_NONE;
    if (looking.stale.count > 0)
        return NAT_CHILDREN_MACVLAN;
    return looking.ipvlan ? NAT_CHILDREN_IPVLAN : NAT_CHILDREN_NONE;
}
