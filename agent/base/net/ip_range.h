/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of addresses, from a first to a last one, as pools are written: "192.0.2.0/28" or
 * "192.0.2.10-192.0.2.20". Both ends belong to the range and are of one family.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/net/ip.h"

struct ip_range {
    struct ip first, last;
};

typedef VEC(struct ip_range) ip_range_list;

enum { IP_RANGE_STRLEN = 2 * IP_STRLEN }; /* with the NUL */

/*
 * Parses an address, a CIDR, or two addresses with a dash between them; blanks around each do not
 * count. Returns 0; 1 for a CIDR with bits beyond its length, which are cleared; -EINVAL, also
 * where the last one comes before the first.
 */
int ip_range_parse(const char *string, struct ip_range *ret_range);

/* "192.0.2.10-192.0.2.20", or the address of a range of one. Returns `buffer`. */
const char *ip_range_str(const struct ip_range *range, char buffer[static IP_RANGE_STRLEN]);

bool ip_range_contains(const struct ip_range *range, const struct ip *ip);
bool ip_range_overlaps(const struct ip_range *a, const struct ip_range *b);
bool ip_ranges_equal(const struct ip_range *a, size_t a_count, const struct ip_range *b,
                     size_t b_count);

/* How many addresses it has; UINT64_MAX for that many or more. */
uint64_t ip_range_size(const struct ip_range *range);

/* Whether an address of it is one of ip_is_special(). */
bool ip_range_is_special(const struct ip_range *range);

/* The next and the one before; false if there is none in the family, and then nothing is written.
 */
bool ip_next(const struct ip *ip, struct ip *ret_next);
bool ip_before(const struct ip *ip, struct ip *ret_before);
