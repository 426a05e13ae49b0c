/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames by which a host of an Ethernet segment asks whether an address is in use, and says that it
 * has it: ARP (RFC 826, RFC 5227) for IPv4, neighbour discovery (RFC 4861, RFC 4862) for IPv6.
 * Built from plain values, and taken apart; pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"

enum { SEGMENT_FRAME_MAX = 86 }; /* Ethernet, IPv6, an advertisement with one option */

enum segment_word {
    SEGMENT_PROBE,    /* is it in use? Changes nobody's cache: the sender has no address in it */
    SEGMENT_ANNOUNCE, /* an ARP request for itself, or an unsolicited advertisement */
    SEGMENT_REPLY,  /* an ARP reply to all, for hosts that take no news from requests; IPv4 only */
    SEGMENT_SEARCH, /* a probe of who does not want it: marked where others have to ignore it */
};

/*
 * Writes a frame from `mac` about an address. Returns its length in bytes; 0 if there is no such
 * frame: SEGMENT_REPLY of IPv6, no address.
 */
size_t segment_frame_build(enum segment_word word, const struct ip *ip, const uint8_t mac[static 6],
                           uint8_t buffer[static SEGMENT_FRAME_MAX]);

/*
 * The same for one host alone: he is told that `mac` has the address. The reply is gratuitous in
 * ARP, since Linux takes one that answers a question for no news within a second of another.
 */
size_t segment_frame_tell(const struct ip *ip, const uint8_t mac[static 6], const struct ip *host,
                          const uint8_t host_mac[static 6],
                          uint8_t buffer[static SEGMENT_FRAME_MAX]);

/* What a frame says of an address: `mac` has it, or (`is_probe`) would like to or, being marked
 * (`is_search`), to know who has it. */
struct segment_claim {
    struct ip ip;
    uint8_t mac[6];
    bool is_probe;
    bool is_search; /* `is_probe` too */
};

/*
 * True if the frame, as a packet socket gives it, claims an address or probes for one. False of all
 * else, be it malformed, with a wrong checksum, or from beyond the segment (hop limit below 255).
 */
bool segment_frame_parse(const uint8_t *frame, size_t length, struct segment_claim *ret_claim);
