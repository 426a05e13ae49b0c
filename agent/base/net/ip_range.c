// SPDX-License-Identifier: Apache-2.0
/*
 * Ranges of addresses: text, order, size and steps. Pure. Pools of LoadBalancer addresses are made
 * of them (model/ip_pool.h), and plan/ counts and gives by them; bytes are in network order, so
 * that memcmp() is the order of addresses.
 */
#include "base/net/ip_range.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

/* The longest text that can be a range: two addresses, a dash, some blanks. */
enum { TEXT_MAX = 2 * IP_STRLEN + 16 };

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

static struct ip last_of(const struct prefix *prefix)
{
    struct ip last = prefix->ip;
    for (size_t bit = prefix->length; bit < ip_bits(&last); bit++)
        last.bytes[bit / 8] |= (uint8_t)(0x80 >> (bit % 8));
    return last;
}

static int parse_one(const char *text, struct ip_range *ret_range)
{
    struct prefix prefix;
    struct ip ip;
    if (ip_parse_strict(text, &ip) == 0) {
        *ret_range = (struct ip_range){ ip, ip };
        return 0;
    }
    int r = prefix_parse(text, &prefix);
    if (r < 0)
        return r;
    *ret_range = (struct ip_range){ prefix.ip, last_of(&prefix) };
    return r;
}

int ip_range_parse(const char *string, struct ip_range *ret_range)
{
    char copy[TEXT_MAX];
    size_t length = strlen(string);
    if (length >= sizeof(copy))
        return -EINVAL;
    memcpy(copy, string, length + 1);
    char *dash = strchr(copy, '-');
    if (!dash)
        return parse_one(trimmed(copy), ret_range);
    *dash = '\0';
    struct ip_range range;
    if (ip_parse_strict(trimmed(copy), &range.first) < 0 ||
        ip_parse_strict(trimmed(dash + 1), &range.last) < 0 ||
        range.first.family != range.last.family || ip_cmp(&range.first, &range.last) > 0)
        return -EINVAL;
    *ret_range = range;
    return 0;
}

const char *ip_range_str(const struct ip_range *range, char buffer[static IP_RANGE_STRLEN])
{
    char first[IP_STRLEN], last[IP_STRLEN];
    bool single = ip_equal(&range->first, &range->last);
    snprintf(buffer, IP_RANGE_STRLEN, "%s%s%s", ip_str(&range->first, first), single ? "" : "-",
             single ? "" : ip_str(&range->last, last));
    return buffer;
}

bool ip_range_contains(const struct ip_range *range, const struct ip *ip)
{
    return range->first.family == ip->family && ip_cmp(&range->first, ip) <= 0 &&
           ip_cmp(ip, &range->last) <= 0;
}

bool ip_range_overlaps(const struct ip_range *a, const struct ip_range *b)
{
    return ip_cmp(&a->first, &b->last) <= 0 && ip_cmp(&b->first, &a->last) <= 0;
}

static bool range_equal(const struct ip_range *a, const struct ip_range *b)
{
    return ip_equal(&a->first, &b->first) && ip_equal(&a->last, &b->last);
}

bool ip_ranges_equal(const struct ip_range *a, size_t a_count, const struct ip_range *b,
                     size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++) {
        if (!range_equal(&a[i], &b[i]))
            return false;
    }
    return true;
}

uint64_t ip_range_size(const struct ip_range *range)
{
    size_t size = ip_size(&range->first);
    uint64_t difference = 0;
    int borrow = 0;
    for (size_t i = size; i-- > 0;) {
        int byte = range->last.bytes[i] - range->first.bytes[i] - borrow;
        borrow = byte < 0;
        byte += borrow ? 256 : 0;
        size_t shift = 8 * (size - 1 - i);
        if (shift >= 64 && byte)
            return UINT64_MAX;
        difference |= shift < 64 ? (uint64_t)byte << shift : 0;
    }
    return difference == UINT64_MAX ? UINT64_MAX : difference + 1;
}

bool ip_range_is_special(const struct ip_range *range)
{
    /* The first address of each kind that ip_is_special() knows. */
    static const char *const firsts[] = { "127.0.0.0", "169.254.0.0", "224.0.0.0",
                                          "fe80::", "ff00::" };
    if (ip_is_special(&range->first) || ip_is_special(&range->last))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
        struct ip ip;
        if (ip_parse(firsts[i], &ip) == 0 && ip_range_contains(range, &ip))
            return true;
    }
    return false;
}

bool ip_next(const struct ip *ip, struct ip *ret_next)
{
    struct ip next = *ip;
    for (size_t i = ip_size(ip); i-- > 0;) {
        if (++next.bytes[i] != 0) {
            *ret_next = next;
            return true;
        }
    }
    return false;
}

bool ip_before(const struct ip *ip, struct ip *ret_before)
{
    struct ip before = *ip;
    for (size_t i = ip_size(ip); i-- > 0;) {
        if (before.bytes[i]-- != 0) {
            *ret_before = before;
            return true;
        }
    }
    return false;
}
