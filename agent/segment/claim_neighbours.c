// SPDX-License-Identifier: Apache-2.0
/*
 * Announces an address that was added to this node to each of the node's neighbours (see
 * plan/claims/telling.h). Called by claims.c and claim_wire.c.
 *
 * Many addresses are added at once: an interface's neighbours are read once for all of them.
 * Pending announcements of an address that is removed are dropped by claim_kernel.c.
 */
#include <linux/neighbour.h>
#include <string.h>

#include "apply/netlink/neighbour.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/net/ip.h"
#include "segment/claims_inside.h"

enum { FRESH_MS = SECOND_MS };

static bool is_known(const struct nl_neighbour *neighbour)
{
    static const uint8_t none[6];
    const unsigned states = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT;
    return (neighbour->state & states) && memcmp(neighbour->mac, none, sizeof(none)) != 0;
}

/*
 * This node's neighbour table also has the previous holders of claimed addresses; the node there
 * would forward the packet.
 */
static bool is_claimed(const struct claims *claims, const struct ip *ip)
{
    vec_each(struct own_claim *const, claim, &claims->list) {
        vec_each(const struct claim_address, address, &(*claim)->addresses) {
            if (ip_equal(&address->ip, ip))
                return true;
        }
    }
    return false;
}

static int read_hosts(struct claims *claims, uint32_t ifindex, int64_t now_ms)
{
    AUTOVEC nl_neighbour_list neighbours = { 0 };
    if (claims->hosts_ms && claims->hosts_ifindex == ifindex &&
        now_ms - claims->hosts_ms < FRESH_MS)
        return 0;
    claims->hosts_ms = 0;
    vec_clear(&claims->hosts);
    int r = nl_neighbour_dump(claims->netlink, ifindex, false, &neighbours);
    if (r < 0)
        return r;
    r = vec_reserve(&claims->hosts, neighbours.count);
    if (r < 0)
        return r;
    vec_each(const struct nl_neighbour, neighbour, &neighbours) {
        struct telling_host host = { .ip = neighbour->ip };
        memcpy(host.mac, neighbour->mac, sizeof(host.mac));
        if (is_known(neighbour) && !is_claimed(claims, &neighbour->ip))
            claims->hosts.items[claims->hosts.count++] = host;
    }
    claims->hosts_ifindex = ifindex;
    claims->hosts_ms = now_ms;
    return 0;
}

/* All hosts were notified by broadcast: an error here is no fault. */
void claim_tell_neighbours(struct claims *claims, const struct claim_address *address,
                           int64_t now_ms)
{
    int r = read_hosts(claims, address->ifindex, now_ms);
    if (r >= 0)
        r = telling_begin(&claims->telling, address->ifindex, &address->ip, address->mac,
                          &claims->hosts);
    if (r < 0)
        log_warning("%s: cannot tell its neighbours: %s", address->interface, strerror(-r));
}

void claims_tell_neighbours(struct claims *claims, int64_t now_ms)
{
    struct telling_word word;
    while (telling_next(&claims->telling, now_ms, &word))
        (void)wires_tell(claims->wires, &word);
}

void claim_neighbours_end(struct claims *claims)
{
    telling_done(&claims->telling);
    vec_done(&claims->hosts);
}
