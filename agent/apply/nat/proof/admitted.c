// SPDX-License-Identifier: Apache-2.0
/*
 * Sources within a Service's source ranges; see admitted.h.
 *
 * Two prefixes overlap if one contains the other's first address, which is then in both. So a pod
 * inside a range is the first address of the smaller one; a source outside is the first address of
 * the range, or the one after a pod network in it.
 */
#include "apply/nat/proof/admitted.h"

static bool in_any(const struct prefix *prefixes, size_t count, const struct ip *ip)
{
    for (size_t i = 0; i < count; i++) {
        if (prefix_contains(&prefixes[i], ip))
            return true;
    }
    return false;
}

bool is_admitted(const struct nat_family *family, const struct ip *source)
{
    return family->source_ranges.count == 0 ||
           in_any(family->source_ranges.items, family->source_ranges.count, source);
}

/* The address after the last one of a prefix; false if there is none. */
static bool address_behind(const struct prefix *prefix, struct ip *ret_ip)
{
    struct ip ip = prefix->ip;
    if (prefix->length == 0)
        return false;
    size_t byte = (prefix->length - 1u) / 8;
    unsigned sum = ip.bytes[byte] + (1u << (7 - (prefix->length - 1u) % 8));
    ip.bytes[byte] = (uint8_t)sum;
    while (sum > 0xff && byte-- > 0) {
        sum = ip.bytes[byte] + 1u;
        ip.bytes[byte] = (uint8_t)sum;
    }
    *ret_ip = ip;
    return sum <= 0xff;
}

/* An address of a range that is no pod: its first address, or the first one after some pod
 * network. */
static bool find_stranger(const struct probe_origins *origins, const struct prefix *range,
                          struct ip *ret_ip)
{
    if (!in_any(origins->pod_nets, origins->pod_net_count, &range->ip)) {
        *ret_ip = range->ip;
        return true;
    }
    for (size_t i = 0; i < origins->pod_net_count; i++) {
        struct ip ip;
        if (address_behind(&origins->pod_nets[i], &ip) && prefix_contains(range, &ip) &&
            !in_any(origins->pod_nets, origins->pod_net_count, &ip)) {
            *ret_ip = ip;
            return true;
        }
    }
    return false;
}

/* Without a pod network of the family, any address at a pod's interface is a pod's. */
static bool find_pod(const struct probe_origins *origins, const struct prefix *range,
                     struct ip *ret_ip)
{
    bool known = false;
    for (size_t i = 0; i < origins->pod_net_count; i++) {
        const struct prefix *net = &origins->pod_nets[i];
        known |= net->ip.family == range->ip.family;
        if (prefix_contains(range, &net->ip)) {
            *ret_ip = net->ip;
            return true;
        }
        if (prefix_contains(net, &range->ip)) {
            *ret_ip = range->ip;
            return true;
        }
    }
    *ret_ip = range->ip;
    return !known;
}

bool find_admitted(const struct probe_origins *origins, const struct nat_family *family,
                   enum nat_origin origin, struct ip *ret_ip)
{
    vec_each(const struct prefix, range, &family->source_ranges) {
        if (origin == NAT_ORIGIN_POD ? find_pod(origins, range, ret_ip)
                                     : find_stranger(origins, range, ret_ip))
            return true;
    }
    return false;
}
