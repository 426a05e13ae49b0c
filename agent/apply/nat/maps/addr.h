/* SPDX-License-Identifier: Apache-2.0 */
/* Converts between struct ip and the addresses of the maps, which have IPv4 as ::ffff:a.b.c.d.
 * Pure. */
#pragma once

#include "base/net/ip.h"
#include "bpf/abi.h"
#include "status/packet_seen.h"

/* All zero for IP_NONE. */
struct nat_addr nat_addr_of(const struct ip *ip);
/* IP_NONE if it is all zero. */
struct ip nat_addr_ip(const struct nat_addr *addr);

/* The packet of a tuple as a program noted it, `ns` of CLOCK_MONOTONIC. */
struct packet_seen nat_packet_seen(const struct nat_tuple *tuple, uint64_t ns, uint32_t ifindex);

/* "10.96.0.10:80/TCP"; "10.96.0.10" for an entry of an address alone. Returns `buffer`. */
enum { NAT_KEY_STRLEN = 64 };
const char *nat_key_str(const struct nat_frontend_key *key, char buffer[static NAT_KEY_STRLEN]);
