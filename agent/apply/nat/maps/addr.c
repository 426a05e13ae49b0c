// SPDX-License-Identifier: Apache-2.0
/* Converts between struct ip and the addresses of the maps, where IPv4 is written as
 * ::ffff:a.b.c.d. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "apply/nat/maps/addr.h"
#include "base/net/protocol.h"

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

struct packet_seen nat_packet_seen(const struct nat_tuple *tuple, uint64_t ns, uint32_t ifindex)
{
    return (struct packet_seen){
        .mono_ms = (int64_t)(ns / 1000000),
        .source = nat_addr_ip(&tuple->src),
        .destination = nat_addr_ip(&tuple->dst),
        .source_port = ntohs(tuple->sport),
        .destination_port = ntohs(tuple->dport),
        .protocol = tuple->protocol,
        .ifindex = ifindex,
    };
}

const char *nat_key_str(const struct nat_frontend_key *key, char buffer[static NAT_KEY_STRLEN])
{
    struct ip ip = nat_addr_ip(&key->addr);
    char address[IP_STRLEN];
    (void)ip_str(&ip, address);
    if (key->protocol == 0)
        (void)snprintf(buffer, NAT_KEY_STRLEN, "%s", address);
    else
        (void)snprintf(buffer, NAT_KEY_STRLEN, ip.family == IP_V6 ? "[%s]:%u/%s" : "%s:%u/%s",
                       address, ntohs(key->port), protocol_name(key->protocol));
    return buffer;
}
