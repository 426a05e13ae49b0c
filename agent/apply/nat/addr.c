// SPDX-License-Identifier: Apache-2.0
/* Addresses between struct ip and the maps, where IPv4 stands as ::ffff:a.b.c.d. */
#include <arpa/inet.h>
#include <string.h>

#include "apply/nat/plane_parts.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

struct nat_addr nat_addr_of(const struct ip *ip)
{
    struct nat_addr addr = { 0 };
    if (ip->family == IP_V4) {
        memcpy(addr.bytes, mapped, sizeof(mapped));
        memcpy(addr.bytes + sizeof(mapped), ip->bytes, 4);
    } else if (ip->family == IP_V6) {
        memcpy(addr.bytes, ip->bytes, 16);
    }
    return addr;
}

struct ip nat_addr_ip(const struct nat_addr *addr)
{
    struct ip ip = { .family = IP_V6 };
    if (memcmp(addr->bytes, mapped, sizeof(mapped)) == 0) {
        ip.family = IP_V4;
        memcpy(ip.bytes, addr->bytes + sizeof(mapped), 4);
    } else if (addr->halves[0] || addr->halves[1]) {
        memcpy(ip.bytes, addr->bytes, 16);
    } else {
        ip.family = IP_NONE;
    }
    return ip;
}

struct nat_endpoint nat_endpoint_of(const struct nat_plane *plane, uint32_t id)
{
    const struct nat_endpoint_value *value = &plane->endpoints[id];
    return (struct nat_endpoint){ nat_addr_ip(&value->addr), ntohs(value->port) };
}

bool nat_is_local(const struct nat_plane *plane, const struct ip *ip)
{
    return vec_find(&plane->local, ip, ip_item_cmp);
}
