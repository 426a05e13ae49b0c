// SPDX-License-Identifier: Apache-2.0
/*
 * Decodes rtnetlink messages into values.
 *
 * Differences between IPv4 and IPv6 are removed here. An IPv6 route of type blackhole, unreachable,
 * prohibit or throw has the loopback as its device, an IPv4 one has none: both have none for us, so
 * that wanted and actual routes are comparable. Routes with several next hops, or with a next hop
 * object, have no device either.
 *
 * Routes with a TOS (IPv4) or a source prefix (IPv6) are ignored: they have slots different from
 * ours, and BIRD learns neither. Addresses that can't be a service address (ip_is_special()) are
 * ignored: loopback and link-local.
 */
#include "apply/mirror/decode.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "apply/netlink/address.h"
#include "base/macro.h"

bool route_forwards(const struct route *route)
{
    return route->type != RTN_BLACKHOLE && route->type != RTN_UNREACHABLE &&
           route->type != RTN_PROHIBIT && route->type != RTN_THROW;
}

/* Returns 0 for all but IPv4 and IPv6 (multicast routing has families of its own). */
static uint8_t family_of(uint8_t address_family)
{
    return address_family == AF_INET ? IP_V4 : address_family == AF_INET6 ? IP_V6 : IP_NONE;
}

static struct ip get_ip(uint8_t family, const struct nlattr *attribute)
{
    struct ip ip = { .family = family };
    if (attribute)
        memcpy(ip.bytes, mnl_attr_get_payload(attribute), ip_size(&ip));
    return ip;
}

static uint32_t get_u32(const struct nlattr *attribute, uint32_t otherwise)
{
    return attribute ? mnl_attr_get_u32(attribute) : otherwise;
}

bool decode_route(const struct nlmsghdr *message, struct route *ret_route)
{
    const struct rtmsg *fixed = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*fixed))
        return false;
    struct prefix prefix = { { .family = family_of(fixed->rtm_family) }, fixed->rtm_dst_len };
    if (prefix.ip.family == IP_NONE || prefix.length > ip_bits(&prefix.ip) || fixed->rtm_tos ||
        fixed->rtm_src_len || (fixed->rtm_flags & RTM_F_CLONED))
        return false;

    const struct nl_wanted wanted[] = {
        { RTA_DST, (uint16_t)ip_size(&prefix.ip) },
        { RTA_TABLE, sizeof(uint32_t) },
        { RTA_PRIORITY, sizeof(uint32_t) },
        { RTA_OIF, sizeof(uint32_t) },
        { RTA_GATEWAY, (uint16_t)ip_size(&prefix.ip) },
        { RTA_PREFSRC, (uint16_t)ip_size(&prefix.ip) },
    };
    const struct nlattr *attributes[RTA_TABLE + 1];
    nl_parse(message, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, RTA_TABLE);
    if (prefix.length > 0 && !attributes[RTA_DST])
        return false;
    prefix.ip = get_ip(prefix.ip.family, attributes[RTA_DST]);

    struct route route = {
        .table = get_u32(attributes[RTA_TABLE], fixed->rtm_table),
        .prefix = prefix,
        .metric = get_u32(attributes[RTA_PRIORITY], 0),
        .protocol = fixed->rtm_protocol,
        .type = fixed->rtm_type,
    };
    if (route_forwards(&route))
        route.ifindex = get_u32(attributes[RTA_OIF], 0);
    if (attributes[RTA_GATEWAY])
        route.gateway = get_ip(prefix.ip.family, attributes[RTA_GATEWAY]);
    if (attributes[RTA_PREFSRC])
        route.source = get_ip(prefix.ip.family, attributes[RTA_PREFSRC]);
    *ret_route = route;
    return true;
}

/*
 * True if the rule has more selectors than struct rule can hold. The kernel sends a selector only
 * where one is set, so an unknown attribute, possibly of a later kernel, is a further selector.
 */
static bool has_more(const struct nlmsghdr *message, const struct fib_rule_hdr *fixed)
{
    if (fixed->dst_len || fixed->src_len || fixed->tos || fixed->action != FR_ACT_TO_TBL ||
        (fixed->flags & FIB_RULE_FIND_SADDR))
        return true;
    const struct nlattr *it = NULL;
    while ((it = nl_next_attribute(message, sizeof(*fixed), it))) {
        switch (mnl_attr_get_type(it)) {
        case FRA_IIFNAME:
        case FRA_PRIORITY:
        case FRA_TABLE:
        case FRA_PROTOCOL:
        case FRA_PAD:
            break;
        case FRA_SUPPRESS_PREFIXLEN: /* always present; -1 is none */
            if (mnl_attr_get_payload_len(it) != sizeof(uint32_t) ||
                mnl_attr_get_u32(it) != UINT32_MAX)
                return true;
            break;
        default:
            return true;
        }
    }
    return false;
}

bool decode_rule(const struct nlmsghdr *message, struct rule *ret_rule)
{
    static const struct nl_wanted wanted[] = {
        { FRA_IIFNAME, 0 },
        { FRA_PRIORITY, sizeof(uint32_t) },
        { FRA_TABLE, sizeof(uint32_t) },
        { FRA_PROTOCOL, sizeof(uint8_t) },
    };
    const struct fib_rule_hdr *fixed = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*fixed) || family_of(fixed->family) == IP_NONE)
        return false;

    const struct nlattr *attributes[FRA_PROTOCOL + 1];
    nl_parse(message, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, FRA_PROTOCOL);
    struct rule rule = {
        .family = family_of(fixed->family),
        .priority = get_u32(attributes[FRA_PRIORITY], 0),
        .table = get_u32(attributes[FRA_TABLE], fixed->table),
        .invert = (fixed->flags & FIB_RULE_INVERT) != 0,
        .other = has_more(message, fixed),
    };
    if (attributes[FRA_PROTOCOL])
        rule.protocol = mnl_attr_get_u8(attributes[FRA_PROTOCOL]);
    if (attributes[FRA_IIFNAME]) {
        const char *name = mnl_attr_get_str(attributes[FRA_IIFNAME]);
        memcpy(rule.iif, name, strnlen(name, sizeof(rule.iif) - 1));
    }
    *ret_rule = rule;
    return true;
}

static struct prefix network_of(const struct ip *ip, uint8_t length)
{
    struct prefix network = { .ip = { .family = ip->family }, .length = length };
    memcpy(network.ip.bytes, ip->bytes, (length + 7u) / 8);
    if (length % 8)
        network.ip.bytes[length / 8] &= (uint8_t)(0xff00u >> length % 8);
    return network;
}

bool decode_address(const struct nlmsghdr *message, struct prefix *ret_host,
                    struct prefix *ret_network)
{
    struct nl_address address;
    if (!nl_address_decode(message, &address) || ip_is_special(&address.ip))
        return false;
    *ret_host = ip_host_prefix(&address.ip);
    *ret_network = network_of(&address.peer, address.length);
    return true;
}
