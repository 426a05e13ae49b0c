// SPDX-License-Identifier: Apache-2.0
/*
 * Parses the output packet of a twin; see wire.h. The twins write headers without options, and no
 * Ethernet header: the bytes in its place are unchanged.
 */
#include "apply/egress/wire.h"

#include <arpa/inet.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
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

/* Returns the size of the header; 0: it is no valid header. */
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

/* ---- what a client's node wraps ---- */

static uint16_t header_checksum(const struct iphdr *header)
{
    uint16_t words[sizeof(*header) / 2];
    uint32_t sum = 0;
    memcpy(words, header, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / 2; i++)
        sum += words[i];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

/* The outer headers carry `load` bytes. Their UDP checksum is none, as FoU has it. */
static void tell_load(uint8_t *packet, size_t size, size_t load)
{
    struct udphdr udp;
    memcpy(&udp, packet + size - sizeof(udp), sizeof(udp));
    udp.len = htons((uint16_t)(sizeof(udp) + load));
    udp.check = 0;
    memcpy(packet + size - sizeof(udp), &udp, sizeof(udp));
    if (size == ETHERNET + sizeof(struct ipv6hdr) + sizeof(udp)) {
        struct ipv6hdr header;
        memcpy(&header, packet + ETHERNET, sizeof(header));
        header.payload_len = udp.len;
        memcpy(packet + ETHERNET, &header, sizeof(header));
        return;
    }
    struct iphdr header;
    memcpy(&header, packet + ETHERNET, sizeof(header));
    header.tot_len = htons((uint16_t)(size - ETHERNET + load));
    header.check = 0;
    header.check = header_checksum(&header);
    memcpy(packet + ETHERNET, &header, sizeof(header));
}

size_t egress_wire_wrap(const struct nat_packet *inner, const struct nat_endpoint *gateway,
                        uint8_t ret_frame[static EGRESS_WIRE_MAX])
{
    uint8_t inside[NAT_PACKET_MAX];
    const struct nat_packet outer = {
        .source = inner->source,
        .destination = gateway->ip,
        .source_port = gateway->port,
        .destination_port = gateway->port,
        .protocol = PROTOCOL_UDP,
    };
    size_t load = nat_packet_build(inner, inside), size = nat_packet_build(&outer, ret_frame);
    if (!load || !size)
        return 0;
    load -= ETHERNET;
    tell_load(ret_frame, size, load);
    memcpy(ret_frame + size, inside + ETHERNET, load);
    return size + load;
}
