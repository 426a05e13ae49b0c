/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP addresses and prefixes as plain values. Both families share one type, so that a table holds
 * either; IPv4 sorts before IPv6.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* The value is also the family's name in reports. 0 means "no address". */
enum ip_family {
    IP_NONE = 0,
    IP_V4 = 4,
    IP_V6 = 6,
};

struct ip {
    uint8_t family;    /* enum ip_family */
    uint8_t bytes[16]; /* network order; IPv4 uses the first four, the rest is zero */
};

typedef VEC(struct ip) ip_list;

/* A prefix; bits of the address beyond `length` are zero. */
struct prefix {
    struct ip ip;
    uint8_t length; /* 0..32 or 0..128 */
};

enum {
    IP_STRLEN = 46,     /* with the NUL */
    PREFIX_STRLEN = 50, /* with the NUL */
};

/*
 * Parses an address as Kubernetes does: leading zeros in an IPv4 octet are decimal
 * ("010.1.02.3" is 10.1.2.3); an IPv4-mapped IPv6 address becomes the IPv4 address.
 * A zone ("%eth0") is refused. Returns 0 or -EINVAL.
 */
int ip_parse(const char *string, struct ip *ret_ip);

/*
 * The same, but octets with leading zeros are refused: as Go's ParseIP() has it, by which MetalLB
 * reads. Some read them as octal, so that nobody should go by one.
 */
int ip_parse_strict(const char *string, struct ip *ret_ip);

/*
 * Parses an address with or without a port: "10.0.0.1", "10.0.0.1:80", "fd00::1", "[fd00::1]",
 * "[fd00::1]:80". The port is 1..65535 in decimal; without one `*ret_port` is 0. Returns 0 or
 * -EINVAL.
 */
int ip_port_parse(const char *string, struct ip *ret_ip, uint16_t *ret_port);

/*
 * Parses "address/length". Returns 0, 1 if the address had bits beyond the length (they are
 * cleared), or -EINVAL.
 */
int prefix_parse(const char *string, struct prefix *ret_prefix);

/* Writes the canonical form (RFC 5952 for IPv6) and returns `buffer`; "-" for IP_NONE. */
const char *ip_str(const struct ip *ip, char buffer[static IP_STRLEN]);
const char *prefix_str(const struct prefix *prefix, char buffer[static PREFIX_STRLEN]);

/* The order of all tables: family, then bytes; for prefixes the shorter first. */
int ip_cmp(const struct ip *a, const struct ip *b);
int prefix_cmp(const struct prefix *a, const struct prefix *b);
/* The same for what sorts and searches: vec_sort(), vec_find(), SORTED(). */
int ip_item_cmp(const void *a, const void *b);
int prefix_item_cmp(const void *a, const void *b);
/* True if both lists hold the same in the same order. */
bool prefixes_equal(const struct prefix *a, size_t a_count, const struct prefix *b, size_t b_count);
static inline bool ip_equal(const struct ip *a, const struct ip *b)
{
    return ip_cmp(a, b) == 0;
}

/* 32 or 128; 4 or 16. */
static inline uint8_t ip_bits(const struct ip *ip)
{
    return ip->family == IP_V4 ? 32 : 128;
}
static inline size_t ip_size(const struct ip *ip)
{
    return ip->family == IP_V4 ? 4 : 16;
}

/* The host prefix of an address: /32 or /128. */
struct prefix ip_host_prefix(const struct ip *ip);
/* The network of this length that the address is in; `length`: at the most ip_bits(). */
struct prefix ip_network(const struct ip *ip, uint8_t length);

/* Sorts the list and drops duplicates. */
void ip_list_unite(ip_list *list);

bool prefix_contains(const struct prefix *prefix, const struct ip *ip);

/* 0.0.0.0, ::, 127.0.0.0/8, ::1, multicast, link-local: never a service's or a block's address. */
bool ip_is_special(const struct ip *ip);
