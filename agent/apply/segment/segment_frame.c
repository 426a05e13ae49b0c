// SPDX-License-Identifier: Apache-2.0
/*
 * See segment_frame.h. Frames are built by offsets: every field consists of bytes, at a fixed
 * place. Of a received ARP packet the sender's fields count, in a request or a reply: both mean
 * that the sender has the address.
 */
#include "apply/segment/segment_frame.h"

#include <linux/if_ether.h>
#include <string.h>

enum {
    ETHERNET = 14,
    ARP = ETHERNET + 28,
    ICMP = ETHERNET + 40, /* start of ICMPv6 */
    L3_ONLY = ICMP + 24,  /* a solicitation or advertisement without options */
    HOPS = 255,           /* not forwarded by any router */
    ARP_REQUEST = 1,
    ARP_REPLY = 2,
    ICMPV6 = 58,
    SOLICITATION = 135,
    ADVERTISEMENT = 136,
    RESERVED = 7,    /* the last byte of a field of a solicitation that means nothing */
    OVERRIDE = 0x20, /* replaces another MAC in caches */
    TARGET_MAC = 2,  /* the option, of eight bytes in one unit */
};

static const uint8_t arp_fixed[6] = { 0, 1, 0x08, 0x00, 6, 4 }; /* Ethernet, IPv4 */
static const uint8_t everybody[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t nobody[16];
static const uint8_t all_nodes[16] = { 0xff, 0x02, [15] = 1 };
static const uint8_t all_nodes_mac[6] = { 0x33, 0x33, 0, 0, 0, 1 };

static void put_ethernet(uint8_t *frame, const uint8_t *to, const uint8_t *from, uint16_t type)
{
    memcpy(frame, to, 6);
    memcpy(frame + 6, from, 6);
    frame[12] = (uint8_t)(type >> 8);
    frame[13] = (uint8_t)type;
}

static bool is_question(enum segment_word word)
{
    return word == SEGMENT_PROBE || word == SEGMENT_SEARCH;
}

static size_t build_arp(enum segment_word word, const struct ip *ip, const uint8_t *mac,
                        uint8_t *frame)
{
    put_ethernet(frame, everybody, mac, ETH_P_ARP);
    uint8_t *arp = frame + ETHERNET;
    memcpy(arp, arp_fixed, sizeof(arp_fixed));
    arp[6] = 0;
    arp[7] = word == SEGMENT_REPLY ? ARP_REPLY : ARP_REQUEST;
    memcpy(arp + 8, mac, 6);
    memcpy(arp + 14, is_question(word) ? nobody : ip->bytes, 4);
    memcpy(arp + 18, word == SEGMENT_REPLY ? everybody : word == SEGMENT_SEARCH ? mac : nobody, 6);
    memcpy(arp + 24, ip->bytes, 4);
    return ARP;
}

/* Ones' complement sum of ICMPv6 and its pseudo header; 0xffff if the checksum in it is right. */
static uint16_t sum_of(const uint8_t *frame, size_t length)
{
    uint32_t sum = (uint32_t)(length - ICMP) + ICMPV6;
    for (size_t i = ETHERNET + 8; i < length; i++)
        sum += i % 2 == 0 ? (uint32_t)frame[i] << 8 : frame[i];
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)(sum + (sum >> 16));
}

static void put_ipv6(uint8_t *frame, size_t length, const uint8_t *from, const uint8_t *to)
{
    uint8_t *header = frame + ETHERNET;
    memset(header, 0, 40);
    header[0] = 0x60;
    header[5] = (uint8_t)(length - ICMP);
    header[6] = ICMPV6;
    header[7] = HOPS;
    memcpy(header + 8, from, 16);
    memcpy(header + 24, to, 16);
}

/* To the solicited-node multicast group of the address, with an unspecified source. */
static size_t build_solicitation(enum segment_word word, const struct ip *ip, const uint8_t *mac,
                                 uint8_t *frame)
{
    uint8_t group[16] = { 0xff, 0x02, [11] = 1, [12] = 0xff };
    const uint8_t to[6] = { 0x33, 0x33, 0xff, ip->bytes[13], ip->bytes[14], ip->bytes[15] };
    memcpy(group + 13, ip->bytes + 13, 3);
    put_ethernet(frame, to, mac, ETH_P_IPV6);
    put_ipv6(frame, L3_ONLY, nobody, group);
    memset(frame + ICMP, 0, L3_ONLY - ICMP);
    frame[ICMP] = SOLICITATION;
    frame[ICMP + RESERVED] = word == SEGMENT_SEARCH;
    memcpy(frame + ICMP + 8, ip->bytes, 16);
    return L3_ONLY;
}

static size_t build_advertisement(const struct ip *ip, const uint8_t *mac, const uint8_t *to,
                                  const uint8_t *to_mac, uint8_t *frame)
{
    put_ethernet(frame, to_mac, mac, ETH_P_IPV6);
    put_ipv6(frame, SEGMENT_FRAME_MAX, ip->bytes, to);
    memset(frame + ICMP, 0, SEGMENT_FRAME_MAX - ICMP);
    frame[ICMP] = ADVERTISEMENT;
    frame[ICMP + 4] = OVERRIDE;
    memcpy(frame + ICMP + 8, ip->bytes, 16);
    frame[L3_ONLY] = TARGET_MAC;
    frame[L3_ONLY + 1] = 1;
    memcpy(frame + L3_ONLY + 2, mac, 6);
    return SEGMENT_FRAME_MAX;
}

static size_t sealed(uint8_t *frame, size_t length)
{
    uint16_t checksum = (uint16_t)~sum_of(frame, length);
    frame[ICMP + 2] = (uint8_t)(checksum >> 8);
    frame[ICMP + 3] = (uint8_t)checksum;
    return length;
}

size_t segment_frame_build(enum segment_word word, const struct ip *ip, const uint8_t mac[static 6],
                           uint8_t buffer[static SEGMENT_FRAME_MAX])
{
    if (ip->family == IP_V4)
        return build_arp(word, ip, mac, buffer);
    if (ip->family != IP_V6 || word == SEGMENT_REPLY)
        return 0;
    return sealed(buffer, is_question(word)
                              ? build_solicitation(word, ip, mac, buffer)
                              : build_advertisement(ip, mac, all_nodes, all_nodes_mac, buffer));
}

size_t segment_frame_tell(const struct ip *ip, const uint8_t mac[static 6], const struct ip *host,
                          const uint8_t host_mac[static 6],
                          uint8_t buffer[static SEGMENT_FRAME_MAX])
{
    if (ip->family == IP_V6 && host->family == IP_V6)
        return sealed(buffer, build_advertisement(ip, mac, host->bytes, host_mac, buffer));
    if (ip->family != IP_V4 || host->family != IP_V4)
        return 0;
    size_t length = build_arp(SEGMENT_REPLY, ip, mac, buffer);
    memcpy(buffer, host_mac, 6);
    memcpy(buffer + ETHERNET + 18, mac, 6);
    return length;
}

/* ---- Parsing ---- */

static bool parse_arp(const uint8_t *frame, size_t length, struct segment_claim *claim)
{
    const uint8_t *arp = frame + ETHERNET;
    if (length < ARP || memcmp(arp, arp_fixed, sizeof(arp_fixed)) != 0 || arp[6] != 0 ||
        (arp[7] != ARP_REQUEST && arp[7] != ARP_REPLY))
        return false;
    claim->is_probe = memcmp(arp + 14, nobody, 4) == 0;
    if (claim->is_probe && arp[7] != ARP_REQUEST)
        return false;
    claim->is_search = claim->is_probe && memcmp(arp + 18, arp + 8, 6) == 0;
    claim->ip.family = IP_V4;
    memcpy(claim->ip.bytes, arp + (claim->is_probe ? 24 : 14), 4);
    memcpy(claim->mac, arp + 8, 6);
    return true;
}

/* The MAC in an advertisement's option, else the sender's. An option of length zero ends the
 * search. */
static void find_mac(const uint8_t *frame, size_t length, uint8_t mac[static 6])
{
    memcpy(mac, frame + 6, 6);
    for (size_t at = L3_ONLY; at + 8 <= length && frame[at + 1] > 0; at += 8u * frame[at + 1]) {
        if (frame[at] == TARGET_MAC && frame[at + 1] == 1) {
            memcpy(mac, frame + at + 2, 6);
            return;
        }
    }
}

static bool parse_neighbour(const uint8_t *frame, size_t length, struct segment_claim *claim)
{
    if (length < L3_ONLY)
        return false;
    size_t whole = ICMP + ((size_t)frame[ETHERNET + 4] << 8 | frame[ETHERNET + 5]);
    if (frame[ETHERNET] >> 4 != 6 || frame[ETHERNET + 6] != ICMPV6 || frame[ETHERNET + 7] != HOPS ||
        whole < L3_ONLY || whole > length || frame[ICMP + 1] != 0 || sum_of(frame, whole) != 0xffff)
        return false;
    claim->is_probe = frame[ICMP] == SOLICITATION;
    if (frame[ICMP] != ADVERTISEMENT &&
        (!claim->is_probe || memcmp(frame + ETHERNET + 8, nobody, 16) != 0))
        return false;
    claim->is_search = claim->is_probe && frame[ICMP + RESERVED] == 1;
    claim->ip.family = IP_V6;
    memcpy(claim->ip.bytes, frame + ICMP + 8, 16);
    find_mac(frame, claim->is_probe ? L3_ONLY : whole, claim->mac);
    return true;
}

bool segment_frame_parse(const uint8_t *frame, size_t length, struct segment_claim *ret_claim)
{
    struct segment_claim claim = { 0 };
    if (length < ETHERNET)
        return false;
    uint16_t type = (uint16_t)(frame[12] << 8 | frame[13]);
    bool is_claim = (type == ETH_P_ARP && parse_arp(frame, length, &claim)) ||
                    (type == ETH_P_IPV6 && parse_neighbour(frame, length, &claim));
    if (is_claim)
        *ret_claim = claim;
    return is_claim;
}
