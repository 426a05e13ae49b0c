// SPDX-License-Identifier: Apache-2.0
/*
 * Packets for BPF_PROG_TEST_RUN, built for probe.c.
 *
 * The kernel takes an Ethernet frame, strips the header and runs the program; the network stack
 * never sees the packet. So the packet is as short as the programs' parser permits: TCP has no
 * options, pings have no data, UDP has at most the number that identifies it. The frame is a
 * broadcast: the kernel treats a frame to another station as not meant for the device, whose own
 * address is not known here. Checksums are correct, since the twin runs the same code as the
 * programs, which updates them. SCTP's checksum is left zero, which has no effect here.
 */
#include "apply/nat/proof/packet.h"

#include <arpa/inet.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <string.h>

enum {
    ETHERNET_HEADER = 14,
    MAC_SIZE = 6,
    SCTP_HEADER = 12,
    ECHO_HEADER = 8,
    ECHO_REQUEST = 8,    /* of ICMP */
    ECHO_REQUEST6 = 128, /* of ICMPv6 */
    ICMP6 = 58,
    DONT_FRAGMENT = 0x4000,
    HOP_LIMIT = 64,
    WINDOW = 64240,
};

/* Adds 16-bit words in network order. All sizes here are even. */
static uint32_t add_words(uint32_t sum, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i + 1 < size; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    return sum;
}

static uint16_t finish(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return htons((uint16_t)~sum);
}

/* The protocol number of the family. */
static uint8_t number_of(const struct nat_packet *packet)
{
    const bool six = packet->source.family == IP_V6;
    return six && packet->protocol == PROTOCOL_ICMP ? ICMP6 : (uint8_t)packet->protocol;
}

/* The checksum of TCP, UDP or ICMPv6, with the pseudo header. */
static uint16_t transport_checksum(const struct nat_packet *packet, const void *header, size_t size)
{
    uint32_t sum = number_of(packet) + (uint32_t)size;
    sum = add_words(sum, packet->source.bytes, ip_size(&packet->source));
    sum = add_words(sum, packet->destination.bytes, ip_size(&packet->destination));
    return finish(add_words(sum, header, size));
}

static size_t put_tcp(const struct nat_packet *packet, uint8_t *at)
{
    struct tcphdr header = {
        .source = htons(packet->source_port),
        .dest = htons(packet->destination_port),
        .seq = htonl(packet->sequence),
        .doff = sizeof(header) / 4,
        .syn = 1,
        .ack = packet->answered != 0,
        .ack_seq = packet->answered ? htonl(packet->answered + 1) : 0,
        .window = htons(WINDOW),
    };
    header.check = transport_checksum(packet, &header, sizeof(header));
    memcpy(at, &header, sizeof(header));
    return sizeof(header);
}

/* In UDP a checksum of zero means that there is none, so 0xffff is sent for it. */
static size_t put_udp(const struct nat_packet *packet, uint8_t *at)
{
    struct {
        struct udphdr header;
        uint32_t data;
    } datagram = { .data = htonl(packet->sequence) };
    const size_t size = sizeof(datagram.header) + (packet->sequence ? sizeof(datagram.data) : 0);
    datagram.header.source = htons(packet->source_port);
    datagram.header.dest = htons(packet->destination_port);
    datagram.header.len = htons((uint16_t)size);
    uint16_t checksum = transport_checksum(packet, &datagram, size);
    datagram.header.check = checksum ? checksum : 0xffff;
    memcpy(at, &datagram, size);
    return size;
}

static size_t put_sctp(const struct nat_packet *packet, uint8_t *at)
{
    const uint16_t ports[] = { htons(packet->source_port), htons(packet->destination_port) };
    memset(at, 0, SCTP_HEADER);
    memcpy(at, ports, sizeof(ports));
    return SCTP_HEADER;
}

/* An echo request without data; its identifier is the source port. */
static size_t put_echo(const struct nat_packet *packet, uint8_t *at)
{
    const bool six = packet->source.family == IP_V6;
    const uint16_t id = htons(packet->source_port);
    memset(at, 0, ECHO_HEADER);
    at[0] = six ? ECHO_REQUEST6 : ECHO_REQUEST;
    memcpy(at + 4, &id, sizeof(id));
    uint16_t checksum =
        six ? transport_checksum(packet, at, ECHO_HEADER) : finish(add_words(0, at, ECHO_HEADER));
    memcpy(at + 2, &checksum, sizeof(checksum));
    return ECHO_HEADER;
}

static size_t put_transport(const struct nat_packet *packet, uint8_t *at)
{
    switch (packet->protocol) {
    case PROTOCOL_ICMP:
        return put_echo(packet, at);
    case PROTOCOL_TCP:
        return put_tcp(packet, at);
    case PROTOCOL_UDP:
        return put_udp(packet, at);
    case PROTOCOL_SCTP:
        return put_sctp(packet, at);
    }
    return 0;
}

static size_t put_ipv4(const struct nat_packet *packet, uint8_t *at)
{
    size_t payload = put_transport(packet, at + sizeof(struct iphdr));
    struct iphdr header = {
        .version = 4,
        .ihl = sizeof(header) / 4,
        .tot_len = htons((uint16_t)(sizeof(header) + payload)),
        .frag_off = htons(DONT_FRAGMENT),
        .ttl = HOP_LIMIT,
        .protocol = number_of(packet),
    };
    memcpy(&header.saddr, packet->source.bytes, sizeof(header.saddr));
    memcpy(&header.daddr, packet->destination.bytes, sizeof(header.daddr));
    header.check = finish(add_words(0, &header, sizeof(header)));
    memcpy(at, &header, sizeof(header));
    return sizeof(header) + payload;
}

static size_t put_ipv6(const struct nat_packet *packet, uint8_t *at)
{
    size_t payload = put_transport(packet, at + sizeof(struct ipv6hdr));
    struct ipv6hdr header = {
        .version = 6,
        .payload_len = htons((uint16_t)payload),
        .nexthdr = number_of(packet),
        .hop_limit = HOP_LIMIT,
    };
    memcpy(&header.saddr, packet->source.bytes, sizeof(header.saddr));
    memcpy(&header.daddr, packet->destination.bytes, sizeof(header.daddr));
    memcpy(at, &header, sizeof(header));
    return sizeof(header) + payload;
}

size_t nat_packet_build(const struct nat_packet *packet, uint8_t buffer[static NAT_PACKET_MAX])
{
    const uint8_t family = packet->source.family;
    const uint16_t type = htons(family == IP_V6 ? 0x86dd : 0x0800);

    if (family == IP_NONE || family != packet->destination.family)
        return 0;
    memset(buffer, 0, ETHERNET_HEADER);
    memset(buffer, 0xff, MAC_SIZE);
    memcpy(buffer + ETHERNET_HEADER - sizeof(type), &type, sizeof(type));
    uint8_t *network = buffer + ETHERNET_HEADER;
    return ETHERNET_HEADER +
           (family == IP_V6 ? put_ipv6(packet, network) : put_ipv4(packet, network));
}
