// SPDX-License-Identifier: Apache-2.0
/*
 * The node's ends of pods' interfaces: what somebody does to them that cuts their pods off.
 *
 * An end that is down takes the pod's carrier and routes; one without a carrier has nobody at its
 * other end. One that is a port of a bridge or bond hands what comes in to its master. A pod knows
 * its gateways by the MAC address that its node's end had when agent-cni made it, and asks nobody
 * again. An end whose MTU shrinks drops what the pod still sends. None of it is undone here: who
 * did it has a reason, or would do it again.
 *
 * How an end was made is what it shows when it is first seen with all of agent-cni's work done. An
 * agent that starts later takes it as it is then.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "engine/pods/pods_state.h"

enum { V6_MTU_MIN = 1280 };

const char *pods_place(const struct pod_stay *stay, char buffer[static POD_PLACE_LEN])
{
    char name[TENANT_STRLEN];
    if (*stay->name)
        snprintf(buffer, POD_PLACE_LEN, "Pod %s/%s", stay->namespace, stay->name);
    else
        snprintf(buffer, POD_PLACE_LEN, "%s", tenant_str(&stay->tenant, name));
    return buffer;
}

static void remember(struct pod_stay *stay, const struct link *link)
{
    if (!stay->wired || stay->mtu)
        return;
    stay->mtu = link->mtu;
    memcpy(stay->mac, link->mac, sizeof(stay->mac));
}

/* What an end may be, in words of a fault: NULL where nothing is wrong, or no memory. */
struct end {
    const struct pod_stay *stay;
    const struct link *link, *master; /* master NULL: none that takes its packets */
};

static char *say_down(const struct end *end, char **ret_remedy)
{
    *ret_remedy = text_format("ip link set %s up", end->link->name);
    return text_format("is cut off: the node's end of its interface, %s, is down", end->link->name);
}

static char *say_unplugged(const struct end *end, char **ret_remedy)
{
    *ret_remedy =
        text_format("set it up in the pod (ip link set eth0 up), or delete the pod: one in "
                    "its place is wired anew");
    return text_format("is cut off: its own end of %s is down, so that what is sent there is lost",
                       end->link->name);
}

static char *say_port(const struct end *end, char **ret_remedy)
{
    *ret_remedy = text_format("ip link set %s nomaster", end->link->name);
    return text_format("is cut off: the node's end of its interface, %s, is a port of %s %s",
                       end->link->name, end->master->kind, end->master->name);
}

static char *say_no_arp(const struct end *end, char **ret_remedy)
{
    *ret_remedy = text_format("ip link set %s arp on", end->link->name);
    return text_format("is cut off: the node's end of its interface, %s, has no ARP (NOARP), so "
                       "that the node does not find the pod",
                       end->link->name);
}

static char *say_mac(const struct end *end, char **ret_remedy)
{
    char made[LINK_MAC_STRLEN], found[LINK_MAC_STRLEN];
    link_mac_str(end->stay->mac, made);
    *ret_remedy = text_format("ip link set %s address %s", end->link->name, made);
    return text_format("is cut off: the node's end of its interface, %s, has the MAC address %s "
                       "now, and the pod sends to %s",
                       end->link->name, link_mac_str(end->link->mac, found), made);
}

static char *say_mtu(const struct end *end, char **ret_remedy)
{
    *ret_remedy = text_format("ip link set %s mtu %u", end->link->name, end->stay->mtu);
    return text_format("the node's end of its interface, %s, has MTU %u now, and the pod was given "
                       "%u: larger packets of the pod's are dropped%s",
                       end->link->name, end->link->mtu, end->stay->mtu,
                       end->link->mtu < V6_MTU_MIN ? ", and all of IPv6" : "");
}

/* The first that is wrong: the rest may follow from it. */
static char *say(const struct end *end, char **ret_remedy)
{
    if (!end->link->up)
        return say_down(end, ret_remedy);
    if (end->link->unplugged && end->stay->wired)
        return say_unplugged(end, ret_remedy);
    if (end->master)
        return say_port(end, ret_remedy);
    if (end->link->no_arp)
        return say_no_arp(end, ret_remedy);
    if (end->stay->mtu && memcmp(end->stay->mac, end->link->mac, sizeof(end->stay->mac)) != 0)
        return say_mac(end, ret_remedy);
    return end->link->mtu < end->stay->mtu ? say_mtu(end, ret_remedy) : NULL;
}

/* An interface that is made or deleted has an end down for a moment; then the pod's loss is told.
 */
static bool bears_with(struct pod_stay *stay, const struct link *link, int64_t now_ms)
{
    const bool down = !link->up || link->unplugged;
    if (!down)
        stay->down_ms = 0;
    else if (!stay->down_ms)
        stay->down_ms = now_ms;
    return down && now_ms - stay->down_ms < POD_DOWN_GRACE_MS;
}

void pods_tell_ends(struct pods_engine *pods, int64_t now_ms, struct faults *faults)
{
    const struct sorted *links = kernel_links(pods->setup.kernel);
    sorted_each(struct pod_stay, stay, &pods->stays) {
        const struct link *link = stay->ifindex ? link_find(links, stay->ifindex) : NULL;
        char place[POD_PLACE_LEN];
        if (!link)
            continue;
        remember(stay, link);
        if (bears_with(stay, link, now_ms))
            continue;
        const struct end end = { .stay = stay, .link = link, .master = link_port_of(links, link) };
        AUTOFREE char *remedy = NULL;
        AUTOFREE char *message = say(&end, &remedy);
        if (message)
            faults_add(faults, pods_place(stay, place), remedy, "%s", message);
    }
}

bool pods_end_is_too_small(const struct pods_engine *pods, uint32_t ifindex)
{
    const struct link *link = link_find(kernel_links(pods->setup.kernel), ifindex);
    sorted_each(const struct pod_stay, stay, &pods->stays) {
        if (link && stay->ifindex == ifindex)
            return link->mtu < V6_MTU_MIN && link->mtu < stay->mtu;
    }
    return false;
}

/* Who has the address; NULL: nobody here. The look by prefix spares the walk over all addresses. */
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
    sorted_each(const struct pod_stay, stay, &pods->stays) {
        const struct ip *const own[] = { &stay->tenant.v4, &stay->tenant.v6 };
        for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
            const struct link_address *address = local_address(pods, own[i]);
            char ip[IP_STRLEN], place[POD_PLACE_LEN];
            if (!address)
                continue;
            const struct link *link = link_find(kernel_links(pods->setup.kernel), address->ifindex);
            const char *name = link ? link->name : "an interface that is gone";
            AUTOFREE char *remedy =
                text_format("ip addr del %s/%u dev %s", ip_str(own[i], ip), address->length, name);
            faults_add(
                faults, pods_place(stay, place), remedy,
                "is cut off: %s has its address %s, too, so that what is sent there stays on "
                "the node",
                name, ip);
        }
    }
}
