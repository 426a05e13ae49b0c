// SPDX-License-Identifier: Apache-2.0
/*
 * Interfaces, read by kernel.c: one dump, then a notification for each change.
 *
 * A notification of a link is complete, so it can be applied to the table directly; only a wireless
 * driver's own messages are partial, without name and MTU. A bridge reports its ports in messages
 * of family AF_BRIDGE, whose RTM_DELLINK means that the port left the bridge; the same change is
 * notified again for the link itself, so these messages are ignored. While a link is down, a change
 * of only its alias is not notified (6.18), until something else of the link changes.
 *
 * Strict checking lets a dump leave out statistics, which are most of it.
 */
#include "apply/mirror/links.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "apply/netlink/address.h"
#include "apply/netlink/link.h"
#include "base/ours.h"

bool decode_link(const struct nlmsghdr *message, struct link *ret_link)
{
    struct nl_link full;
    if (!nl_link_decode(message, &full))
        return false;
    struct link link = {
        .ifindex = full.ifindex,
        .master = full.master,
        .lower = full.peer_nsid < 0 ? full.peer : 0,
        .mtu = full.mtu,
        .type = full.type,
        .up = full.up,
        .unplugged = full.unplugged,
        .one_peer = full.one_peer,
        .no_arp = !full.arp,
        .peer_away = full.peer && full.peer_nsid >= 0 && strcmp(full.kind, "veth") == 0,
    };
    memcpy(link.mac, full.mac, sizeof(link.mac));
    memcpy(link.name, full.name, sizeof(link.name));
    memcpy(link.kind, full.kind, sizeof(link.kind));
    memcpy(link.alias, full.alias, strnlen(full.alias, sizeof(link.alias) - 1));
    *ret_link = link;
    return true;
}

bool decode_link_address(const struct nlmsghdr *message, struct link_address *ret_address)
{
    struct nl_address full;
    if (!nl_address_decode(message, &full) || ip_is_special(&full.ip))
        return false;
    *ret_address = (struct link_address){
        .ifindex = full.ifindex,
        .ip = full.ip,
        .length = full.length,
        .scope = full.scope,
        .protocol = full.protocol,
        .secondary = (full.flags & IFA_F_SECONDARY) != 0,
        .deprecated = (full.flags & IFA_F_DEPRECATED) != 0,
        .duplicate = (full.flags & IFA_F_DADFAILED) != 0,
        .tentative = (full.flags & IFA_F_DADFAILED) != 0 ||
                     ((full.flags & IFA_F_TENTATIVE) && !(full.flags & IFA_F_OPTIMISTIC)),
    };
    return true;
}

static int on_link(const struct nlmsghdr *row, void *context)
{
    struct link link;
    return decode_link(row, &link) ? sorted_put(context, &link) : 0;
}

static void restart(void *context)
{
    sorted_clear(context);
}

int dump_links(struct nl_socket *socket, struct sorted *ret_links)
{
    AUTOSORTED struct sorted links = SORTED(struct link, link_cmp);
    struct ifinfomsg fixed = { .ifi_family = AF_UNSPEC };
    struct nl_request request;
    nl_begin(&request, RTM_GETLINK, 0, &fixed, sizeof(fixed));
    nl_put_u32(&request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    int r = nl_dump(socket, &request, on_link, restart, &links);
    if (r < 0)
        return r;
    *ret_links = TAKE_STRUCT(links);
    return 0;
}

/*
 * The kernel notifies of a veth's first end before the other one exists, and sends nothing for an
 * end whose peer is moved to another namespace: so the peer (`lower`) from one end's message is set
 * for both.
 */
static int join_ends(struct sorted *links, const struct link *end, uint32_t lower)
{
    const struct link *known =
        end->lower && strcmp(end->kind, "veth") == 0 ? link_find(links, end->lower) : NULL;
    if (!known || known->lower == lower)
        return 0;
    struct link other = *known;
    other.lower = lower;
    return sorted_put(links, &other);
}

int links_hear(struct sorted *links, const struct nlmsghdr *message)
{
    struct link link;
    if (!decode_link(message, &link))
        return 0;
    const struct link *known = link_find(links, link.ifindex);
    if (message->nlmsg_type == RTM_DELLINK) {
        int r = known ? join_ends(links, known, 0) : 0;
        if (known)
            sorted_remove(links, &link);
        return r < 0 ? r : known != NULL;
    }
    if (known && link_equal(known, &link))
        return 0;
    int r = sorted_put(links, &link);
    if (r >= 0)
        r = join_ends(links, &link, link.ifindex);
    return r < 0 ? r : 1;
}

bool links_equal(const struct sorted *a, const struct sorted *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!link_equal(sorted_at(a, i), sorted_at(b, i)))
            return false;
    return true;
}

bool links_filter_matters(const struct nlmsghdr *message)
{
    const struct tcmsg *fixed = mnl_nlmsg_get_payload(message);
    return mnl_nlmsg_get_payload_len(message) >= sizeof(*fixed) && fixed->tcm_parent != TC_H_ROOT &&
           TC_H_MAJ(fixed->tcm_parent) == TC_H_MAJ(TC_H_CLSACT) &&
           (message->nlmsg_type != RTM_NEWTFILTER ||
            TC_H_MAJ(fixed->tcm_info) >> 16 < OURS_TC_PRIORITY);
}
