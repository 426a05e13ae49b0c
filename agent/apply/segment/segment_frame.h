/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames by which a host of an Ethernet segment probes whether an address is in use, and announces
 * that it has the address: ARP (RFC 826, RFC 5227) for IPv4, neighbour discovery (RFC 4861, RFC
 * 4862) for IPv6. Builds them from plain values, and parses them; pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"

enum { SEGMENT_FRAME_MAX = 86 }; /* Ethernet, IPv6, an advertisement with one option */

enum segment_word {
    SEGMENT_PROBE,    /* is it in use? Changes no cache: the frame has no sender address */
    SEGMENT_ANNOUNCE, /* a gratuitous ARP request, or an unsolicited advertisement */
    SEGMENT_REPLY,  /* an ARP reply to all, for hosts that ignore gratuitous requests; IPv4 only */
    SEGMENT_SEARCH, /* a probe without the intent to use the address: marked where others must
                       ignore it */
};

/*
 * Writes a frame from `mac` about an address. Returns its length in bytes; 0 if there is no such
 * frame: SEGMENT_REPLY of IPv6, no address.
 */
size_t segment_frame_build(enum segment_word word, const struct ip *ip, const uint8_t mac[static 6],
                           uint8_t buffer[static SEGMENT_FRAME_MAX]);

/*
 * The same for one host: announces to it that `mac` has the address. In ARP the reply is
 * gratuitous, because Linux ignores a solicited reply within a second of another one.
 */
size_t segment_frame_tell(const struct ip *ip, const uint8_t mac[static 6], const struct ip *host,
                          const uint8_t host_mac[static 6],
                          uint8_t buffer[static SEGMENT_FRAME_MAX]);

/* What a frame says of an address: `mac` has it, or (`is_probe`) intends to use it or, being
 * marked (`is_search`), queries which host has it. */
struct segment_claim {
    struct ip ip;
    uint8_t mac[6];
    bool is_probe;
    bool is_search; /* `is_probe` too */
};

/*
 * True if the frame, as read from a packet socket, claims an address or probes for one. False for
 * all others, including frames that are malformed, have a wrong checksum, or come from beyond the
 * segment (hop limit below 255).
 */
bool segment_frame_parse(const uint8_t *frame, size_t length, struct segment_claim *ret_claim);
