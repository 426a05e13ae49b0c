// SPDX-License-Identifier: Apache-2.0
/*
 * The interfaces of BGP peers; see bgp_links.h. Called by bgp.c after each poll.
 *
 * A peer is reached by the interface that has an address in the peer's network. When an interface
 * is set down, its IPv6 addresses are deleted and its IPv4 addresses stay; therefore the last known
 * interface is kept. Where a session is bound to an interface, BIRD reports it ("10.0.1.1%eth0").
 * Multihop peers have no interface here: their sessions fail for many reasons.
 */
#include "bgp/bgp_links.h"

#include <stdio.h>
#include <string.h>

#include "base/net/ip.h"
#include "plan/link_table.h"

static uint32_t connected_by(const struct sorted *addresses, const struct ip *ip)
{
    sorted_each(const struct link_address, address, addresses) {
        const struct prefix net = ip_network(&address->ip, address->length);
        if (prefix_contains(&net, ip))
            return address->ifindex;
    }
    return 0;
}

static struct bgp_link *find(bgp_link_list *list, const char *address)
{
    vec_each(struct bgp_link, link, list)
        if (strcmp(link->address, address) == 0)
            return link;
    return NULL;
}

static struct bgp_link *note(bgp_link_list *list, const struct bgp_peer *peer,
                             const struct sorted *addresses)
{
    struct ip ip;
    struct bgp_link *link = find(list, peer->address);
    uint32_t ifindex = ip_parse(peer->address, &ip) == 0 ? connected_by(addresses, &ip) : 0;
    if (ifindex && link)
        link->ifindex = ifindex;
    if (link || !ifindex)
        return link;
    struct bgp_link fresh = { .ifindex = ifindex };
    memcpy(fresh.address, peer->address, sizeof(fresh.address));
    return vec_push(list, fresh) < 0 ? NULL : &list->items[list->count - 1];
}

static bool is_peers(const struct bird_status *bird, const struct bgp_link *link)
{
    vec_each(const struct bgp_peer, peer, &bird->peers)
        if (strcmp(peer->address, link->address) == 0)
            return true;
    return false;
}

static void blame(struct bgp_peer *peer, const char *name, enum bgp_link_state how)
{
    (void)snprintf(peer->down_link, sizeof(peer->down_link), "%s", name);
    peer->down_how = how;
}

/* `link`: the interface by which the peer is reached; NULL: unknown. */
static void blame_link(struct bgp_peer *peer, const struct link *link)
{
    bool blamed = link && (!link->up || link->unplugged);
    blame(peer, blamed ? link->name : "",
          blamed && link->unplugged ? BGP_LINK_UNPLUGGED : BGP_LINK_DOWN);
}

void bgp_links_follow(bgp_link_list *list, struct bird_status *bird, const struct sorted *links,
                      const struct sorted *addresses)
{
    for (size_t i = list->count; i-- > 0;) {
        if (!is_peers(bird, &list->items[i]))
            list->items[i] = list->items[--list->count];
    }
    vec_each(struct bgp_peer, peer, &bird->peers) {
        const struct bgp_link *known = note(list, peer, addresses);
        const struct link *link = known ? link_find(links, known->ifindex) : NULL;
        const char *name = strchr(peer->address, '%');
        if (peer->established)
            blame(peer, "", BGP_LINK_DOWN);
        else if (name && !link_named(links, name + 1))
            blame(peer, name + 1, BGP_LINK_MISSING);
        else
            blame_link(peer, name ? link_named(links, name + 1) : link);
    }
}
