// SPDX-License-Identifier: Apache-2.0
/* Order and lookup of interfaces and their addresses; see link_table.h. */
#include "plan/link_table.h"

#include <linux/if_arp.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

int link_cmp(const void *a, const void *b)
{
    const struct link *left = a, *right = b;
    return CMP(left->ifindex, right->ifindex);
}

bool link_equal(const struct link *a, const struct link *b)
{
    return a->ifindex == b->ifindex && a->master == b->master && a->lower == b->lower &&
           a->mtu == b->mtu && a->type == b->type && a->up == b->up &&
           a->unplugged == b->unplugged && a->one_peer == b->one_peer && a->no_arp == b->no_arp &&
           a->peer_away == b->peer_away && memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 &&
           strcmp(a->name, b->name) == 0 && strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->alias, b->alias) == 0;
}

const struct link *link_find(const struct sorted *links, uint32_t ifindex)
{
    return sorted_find(links, &(struct link){ .ifindex = ifindex });
}

const struct link *link_named(const struct sorted *links, const char *name)
{
    sorted_each(const struct link, link, links) {
        if (strcmp(link->name, name) == 0)
            return link;
    }
    return NULL;
}

const struct link *link_port_of(const struct sorted *links, const struct link *link)
{
    const struct link *master = link->master ? link_find(links, link->master) : NULL;
    return master && strcmp(master->kind, "vrf") != 0 ? master : NULL;
}

const struct link *link_bridge_behind(const struct sorted *links, const struct link *link)
{
    const struct link *port = link_port_of(links, link), *bridge = NULL;
    const struct link *lower = link->lower ? link_find(links, link->lower) : NULL;
    if (port || !lower)
        return port;
    if (strcmp(link->kind, "vlan") == 0)
        bridge = lower;
    else if (strcmp(link->kind, "veth") == 0)
        bridge = link_port_of(links, lower);
    return bridge && strcmp(bridge->kind, "bridge") == 0 ? bridge : NULL;
}

const char *link_mac_str(const uint8_t mac[static 6], char buffer[static LINK_MAC_STRLEN])
{
    (void)snprintf(buffer, LINK_MAC_STRLEN, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
                   mac[3], mac[4], mac[5]);
    return buffer;
}

bool link_has_neighbours(const struct link *link)
{
    return link->type == ARPHRD_ETHER && !link->one_peer;
}

bool link_lacks_arp(const struct link *link)
{
    static const char *const kinds[] = { "", "bond", "bridge", "macvlan", "team", "veth", "vlan" };
    bool has = false;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        has |= strcmp(link->kind, kinds[i]) == 0;
    return has && link->no_arp && link_has_neighbours(link);
}

bool link_is_svc0(const struct link *link)
{
    return strcmp(link->name, SVC0_NAME) == 0 && strcmp(link->kind, "veth") == 0 &&
           ours_is_alias(link->alias);
}

int link_path_cmp(const void *a, const void *b)
{
    const struct link_path *left = a, *right = b;
    int r = CMP(left->ifindex, right->ifindex);
    if (!r)
        r = CMP(left->kind, right->kind);
    return r ? r : prefix_cmp(&left->net, &right->net);
}

int link_address_cmp(const void *a, const void *b)
{
    const struct link_address *left = a, *right = b;
    int r = CMP(left->ifindex, right->ifindex);
    if (!r)
        r = CMP(left->ip.family, right->ip.family);
    if (!r)
        r = CMP(left->order, right->order);
    if (!r)
        r = ip_cmp(&left->ip, &right->ip);
    if (!r)
        r = CMP(left->duplicate, right->duplicate);
    if (!r)
        r = CMP(left->length, right->length);
    if (!r)
        r = CMP(left->scope, right->scope);
    if (!r)
        r = CMP(left->protocol, right->protocol);
    if (!r)
        r = CMP(left->secondary, right->secondary);
    if (!r)
        r = CMP(left->deprecated, right->deprecated);
    return r ? r : CMP(left->tentative, right->tentative);
}
