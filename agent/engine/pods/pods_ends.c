// SPDX-License-Identifier: Apache-2.0
/*
 * The node's ends of pods' interfaces: external changes that cut pods off.
 *
 * An end that is down removes the pod's carrier and routes; an end without a carrier has no peer.
 * An end that is a port of a bridge or bond passes received packets to its master. A pod holds
 * permanent neighbour entries for its gateways, with the MAC address that the node's end had when
 * agent-cni made it, and never resolves them again. An end whose MTU is lowered drops what the pod
 * still sends. None of it is undone here: the program that changed it has a reason, or would do it
 * again.
 *
 * The reference state of an end is the one first seen with all of agent-cni's work done. An agent
 * that starts later takes the state at its start.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "engine/pods/pods_state.h"
#include "faults/pods.h"
#include "faults/raise.h"

enum { V6_MTU_MIN = 1280 };

const char *pods_place(const struct pod_attachment *attachment, char buffer[static POD_PLACE_LEN])
{
    char name[POD_INTERFACE_STRLEN];
    if (*attachment->name)
        snprintf(buffer, POD_PLACE_LEN, "Pod %s/%s", attachment->namespace, attachment->name);
    else
        snprintf(buffer, POD_PLACE_LEN, "%s", pod_interface_str(&attachment->pod_interface, name));
    return buffer;
}

static void remember(struct pod_attachment *attachment, const struct link *link)
{
    if (!attachment->wired || attachment->mtu)
        return;
    attachment->mtu = link->mtu;
    memcpy(attachment->mac, link->mac, sizeof(attachment->mac));
}

/* The possible states of an end. */
struct end {
    const struct pod_attachment *attachment;
    const struct link *link, *master; /* master NULL: none that takes its packets */
};

static void tell_mac(const struct end *end, const char *place, struct faults *faults)
{
    char made[LINK_MAC_STRLEN], found[LINK_MAC_STRLEN];
    fault_raise(faults, place, pod_end_mac_changed, .interface = end->link->name,
                .mac = link_mac_str(end->link->mac, found),
                .wanted = link_mac_str(end->attachment->mac, made));
}

static void tell_mtu(const struct end *end, const char *place, struct faults *faults)
{
    fault_raise(faults, place, pod_end_mtu_reduced, .interface = end->link->name,
                .mtu = end->link->mtu, .given = end->attachment->mtu,
                .lost_family = end->link->mtu < V6_MTU_MIN ? 6 : 0);
}

/* Reports the first fault: others may follow from it. */
static void tell_end(const struct end *end, struct faults *faults)
{
    const char *name = end->link->name;
    char buffer[POD_PLACE_LEN];
    const char *place = pods_place(end->attachment, buffer);
    if (!end->link->up)
        fault_raise(faults, place, pod_end_down, .interface = name);
    else if (end->link->unplugged && end->attachment->wired)
        fault_raise(faults, place, pod_end_unplugged, .interface = name);
    else if (end->master)
        fault_raise(faults, place, pod_end_enslaved, .interface = name, .master = end->master->name,
                    .kind = end->master->kind);
    else if (end->link->no_arp)
        fault_raise(faults, place, pod_end_without_arp, .interface = name);
    else if (end->attachment->mtu &&
             memcmp(end->attachment->mac, end->link->mac, sizeof(end->attachment->mac)) != 0)
        tell_mac(end, place, faults);
    else if (end->link->mtu < end->attachment->mtu)
        tell_mtu(end, place, faults);
}

/* An end is briefly down while its interface is made or deleted; a deletion is reported as the
 * pod's loss. */
static bool bears_with(struct pod_attachment *attachment, const struct link *link, int64_t now_ms)
{
    const bool down = !link->up || link->unplugged;
    if (!down)
        attachment->down_ms = 0;
    else if (!attachment->down_ms)
        attachment->down_ms = now_ms;
    return down && now_ms - attachment->down_ms < POD_DOWN_GRACE_MS;
}

void pods_tell_ends(struct pods_engine *pods, int64_t now_ms, struct faults *faults)
{
    const struct sorted *links = kernel_links(pods->setup.kernel);
    sorted_each(struct pod_attachment, attachment, &pods->attachments) {
        const struct link *link =
            attachment->ifindex ? link_find(links, attachment->ifindex) : NULL;
        if (!link)
            continue;
        remember(attachment, link);
        if (bears_with(attachment, link, now_ms))
            continue;
        const struct end end = { .attachment = attachment,
                                 .link = link,
                                 .master = link_port_of(links, link) };
        tell_end(&end, faults);
    }
}

bool pods_end_is_too_small(const struct pods_engine *pods, uint32_t ifindex)
{
    const struct link *link = link_find(kernel_links(pods->setup.kernel), ifindex);
    sorted_each(const struct pod_attachment, attachment, &pods->attachments) {
        if (link && attachment->ifindex == ifindex)
            return link->mtu < V6_MTU_MIN && link->mtu < attachment->mtu;
    }
    return false;
}

/*
 * The interface that has the address; NULL: none here. The lookup by prefix avoids the walk over
 * all addresses.
 */
static const struct link_address *local_address(const struct pods_engine *pods, const struct ip *ip)
{
    const struct prefix host = ip_host_prefix(ip);
    if (ip->family == IP_NONE || !sorted_find(kernel_local_prefixes(pods->setup.kernel), &host))
        return NULL;
    sorted_each(const struct link_address, address, kernel_link_addresses(pods->setup.kernel)) {
        if (ip_equal(&address->ip, ip))
            return address;
    }
    return NULL;
}

void pods_tell_local(const struct pods_engine *pods, struct faults *faults)
{
    sorted_each(const struct pod_attachment, attachment, &pods->attachments) {
        const struct ip *const own[] = { &attachment->pod_interface.v4,
                                         &attachment->pod_interface.v6 };
        for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
            const struct link_address *address = local_address(pods, own[i]);
            char ip[IP_STRLEN], place[POD_PLACE_LEN];
            if (!address)
                continue;
            const struct link *link = link_find(kernel_links(pods->setup.kernel), address->ifindex);
            const char *name = link ? link->name : "an interface that is gone";
            fault_raise(faults, pods_place(attachment, place), pod_address_local,
                        .address = ip_str(own[i], ip), .interface = name,
                        .length = address->length);
        }
    }
}
