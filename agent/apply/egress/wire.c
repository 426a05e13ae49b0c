// SPDX-License-Identifier: Apache-2.0
/*
 * Reading what came out of a twin; see wire.h. The twins write headers without options, and no
 * Ethernet header: what stands in its place is left as it was.
 */
#include "apply/egress/wire.h"

#include <arpa/inet.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <string.h>

enum { ETHERNET = 14, ECHO_ID = 4, ICMP = 1, ICMP6 = 58 };

static struct ip read_ip(uint8_t family, const void *bytes)
{
    struct ip ip = { .family = family };
    memcpy(ip.bytes, bytes, ip_size(&ip));
    return ip;
}

static uint16_t read_port(const uint8_t *at)
{
    uint16_t port;
    memcpy(&port, at, sizeof(port));
    return ntohs(port);
}

/* Returns the size of the header; 0: it is none. */
static size_t read_head(const uint8_t *head, size_t size, struct egress_wire *wire,
                        uint8_t *ret_protocol)
{
    struct iphdr four;
    struct ipv6hdr six;
    if (size >= sizeof(four) && head[0] >> 4 == 4) {
        memcpy(&four, head, sizeof(four));
        wire->source.ip = read_ip(IP_V4, &four.saddr);
        wire->destination.ip = read_ip(IP_V4, &four.daddr);
        wire->hops = four.ttl;
        *ret_protocol = four.protocol;
        return sizeof(four);
    }
    if (size < sizeof(six) || head[0] >> 4 != 6)
        return 0;
    memcpy(&six, head, sizeof(six));
    wire->source.ip = read_ip(IP_V6, &six.saddr);
    wire->destination.ip = read_ip(IP_V6, &six.daddr);
    wire->hops = six.hop_limit;
    *ret_protocol = six.nexthdr;
    return sizeof(six);
}

bool egress_wire_read(const uint8_t *frame, size_t size, struct egress_wire *ret_wire)
{
    struct egress_wire wire = { 0 };
    uint8_t protocol = 0;
    if (size <= ETHERNET)
        return false;
    const uint8_t *head = frame + ETHERNET;
    wire.size = (uint32_t)(size - ETHERNET);
    size_t length = read_head(head, wire.size, &wire, &protocol);
    if (length == 0 || wire.size < length + 8)
        return false;
    if (protocol == ICMP || protocol == ICMP6) {
        wire.source.port = read_port(head + length + ECHO_ID);
    } else {
        wire.source.port = read_port(head + length);
        wire.destination.port = read_port(head + length + sizeof(uint16_t));
    }
    *ret_wire = wire;
    return true;
}
