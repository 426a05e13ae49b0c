// SPDX-License-Identifier: Apache-2.0
/* Addresses and prefixes: parse, print, compare; see ip.h. */
#include "base/net/ip.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* Four decimal octets, leading zeros allowed, nothing else around them. */
static int parse_v4(const char *string, uint8_t bytes[4])
{
    for (int i = 0; i < 4; i++) {
        unsigned value = 0, digits = 0;
        for (; isdigit((unsigned char)*string); string++, digits++) {
            value = value * 10 + (unsigned)(*string - '0');
            if (value > 255)
                return -EINVAL;
        }
        if (digits == 0 || *string != (i < 3 ? '.' : '\0'))
            return -EINVAL;
        bytes[i] = (uint8_t)value;
        string++;
    }
    return 0;
}

static bool is_v4_mapped(const uint8_t bytes[16])
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    return memcmp(bytes, mapped, sizeof(mapped)) == 0;
}

int ip_parse(const char *string, struct ip *ret_ip)
{
    struct ip ip = { .family = IP_V4 };
    if (!strchr(string, ':')) {
        int r = parse_v4(string, ip.bytes);
        if (r < 0)
            return r;
        *ret_ip = ip;
        return 0;
    }
    if (inet_pton(AF_INET6, string, ip.bytes) != 1)
        return -EINVAL;
    if (is_v4_mapped(ip.bytes)) {
        memcpy(ip.bytes, ip.bytes + 12, 4);
        memset(ip.bytes + 4, 0, 12);
    } else {
        ip.family = IP_V6;
    }
    *ret_ip = ip;
    return 0;
}

int ip_parse_strict(const char *string, struct ip *ret_ip)
{
    for (const char *octet = string; octet; octet = strchr(octet, '.')) {
        octet += *octet == '.';
        if (octet[0] == '0' && isdigit((unsigned char)octet[1]) && !strchr(string, ':'))
            return -EINVAL;
    }
    return ip_parse(string, ret_ip);
}

static int parse_port(const char *string, uint16_t *ret_port)
{
    unsigned value = 0;
    for (; *string; string++) {
        if (!isdigit((unsigned char)*string))
            return -EINVAL;
        value = value * 10 + (unsigned)(*string - '0');
        if (value > UINT16_MAX)
            return -EINVAL;
    }
    if (value == 0)
        return -EINVAL;
    *ret_port = (uint16_t)value;
    return 0;
}

/* Without brackets, a second colon means that all of it is an IPv6 address. */
int ip_port_parse(const char *string, struct ip *ret_ip, uint16_t *ret_port)
{
    const bool brackets = *string == '[';
    const char *end = strchr(string, brackets ? ']' : ':');
    char address[IP_STRLEN];
    struct ip ip;
    uint16_t port = 0;

    if (!brackets && (!end || strchr(end + 1, ':')))
        end = string + strlen(string);
    string += brackets;
    if (!end || (size_t)(end - string) >= sizeof(address))
        return -EINVAL;
    memcpy(address, string, (size_t)(end - string));
    address[end - string] = '\0';
    if (ip_parse(address, &ip) < 0 || (brackets && !strchr(address, ':')))
        return -EINVAL;
    end += brackets;
    if (*end && (*end != ':' || parse_port(end + 1, &port) < 0))
        return -EINVAL;
    *ret_ip = ip;
    *ret_port = port;
    return 0;
}

/* Clears the bits after the first `length`; true if any was set. */
static bool mask(uint8_t *bytes, size_t size, unsigned length)
{
    bool cleared = false;
    for (size_t i = 0; i < size; i++) {
        unsigned kept = length > i * 8 ? MIN(length - (unsigned)(i * 8), 8u) : 0;
        uint8_t keep = (uint8_t)(0xff00u >> kept);
        cleared |= (bytes[i] & (uint8_t)~keep) != 0;
        bytes[i] &= keep;
    }
    return cleared;
}

int prefix_parse(const char *string, struct prefix *ret_prefix)
{
    const char *slash = strchr(string, '/');
    char address[IP_STRLEN];
    if (!slash || (size_t)(slash - string) >= sizeof(address) || !isdigit((unsigned char)slash[1]))
        return -EINVAL;
    memcpy(address, string, (size_t)(slash - string));
    address[slash - string] = '\0';

    char *end;
    unsigned long length = strtoul(slash + 1, &end, 10);
    struct prefix prefix = { 0 };
    if (*end != '\0' || ip_parse(address, &prefix.ip) < 0 || length > ip_bits(&prefix.ip))
        return -EINVAL;
    prefix.length = (uint8_t)length;
    int r = mask(prefix.ip.bytes, ip_size(&prefix.ip), prefix.length) ? 1 : 0;
    *ret_prefix = prefix;
    return r;
}

const char *ip_str(const struct ip *ip, char buffer[static IP_STRLEN])
{
    int family = ip->family == IP_V4 ? AF_INET : AF_INET6;
    if (ip->family == IP_NONE || !inet_ntop(family, ip->bytes, buffer, IP_STRLEN))
        strcpy(buffer, "-");
    return buffer;
}

const char *prefix_str(const struct prefix *prefix, char buffer[static PREFIX_STRLEN])
{
    char address[IP_STRLEN];
    if (prefix->ip.family == IP_NONE)
        strcpy(buffer, "-");
    else
        snprintf(buffer, PREFIX_STRLEN, "%s/%u", ip_str(&prefix->ip, address), prefix->length);
    return buffer;
}

int ip_cmp(const struct ip *a, const struct ip *b)
{
    int r = CMP(a->family, b->family);
    return r ? r : memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

int ip_item_cmp(const void *a, const void *b)
{
    return ip_cmp(a, b);
}

void ip_list_unite(ip_list *list)
{
    vec_sort(list, ip_item_cmp);
    vec_drop_equal(list, ip_item_cmp);
}

int prefix_cmp(const struct prefix *a, const struct prefix *b)
{
    int r = ip_cmp(&a->ip, &b->ip);
    return r ? r : CMP(a->length, b->length);
}

bool prefixes_equal(const struct prefix *a, size_t a_count, const struct prefix *b, size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++) {
        if (prefix_cmp(&a[i], &b[i]) != 0)
            return false;
    }
    return true;
}

int prefix_item_cmp(const void *a, const void *b)
{
    return prefix_cmp(a, b);
}

struct prefix ip_host_prefix(const struct ip *ip)
{
    return (struct prefix){ .ip = *ip, .length = ip_bits(ip) };
}

struct prefix ip_network(const struct ip *ip, uint8_t length)
{
    struct prefix network = { .ip = *ip, .length = length };
    (void)mask(network.ip.bytes, ip_size(ip), length);
    return network;
}

bool prefix_contains(const struct prefix *prefix, const struct ip *ip)
{
    if (prefix->ip.family != ip->family)
        return false;
    const struct prefix network = ip_network(ip, prefix->length);
    return ip_equal(&network.ip, &prefix->ip);
}

bool ip_is_special(const struct ip *ip)
{
    static const char *const special[] = { "0.0.0.0/8",   "127.0.0.0/8", "169.254.0.0/16",
                                           "224.0.0.0/3", "::/127",      "fe80::/10",
                                           "ff00::/8" };
    static struct prefix parsed[ARRAY_SIZE(special)];

    for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
        if (parsed[i].ip.family == IP_NONE)
            (void)prefix_parse(special[i], &parsed[i]);
        if (prefix_contains(&parsed[i], ip))
            return true;
    }
    return ip->family == IP_NONE;
}
