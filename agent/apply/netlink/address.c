// SPDX-License-Identifier: Apache-2.0
/*
 * Interface addresses by rtnetlink; see address.h.
 *
 * IFA_LOCAL is the local address; where it is missing (IPv6 has it only with a peer), IFA_ADDRESS
 * is the local one, and otherwise the peer's. The prefix length always belongs to IFA_ADDRESS.
 * Flags have 32 bits in a separate attribute; the fixed part has the lower eight.
 */
#include "apply/netlink/address.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"

static struct ip get_ip(uint8_t family, const struct nlattr *attribute)
{
    struct ip ip = { .family = family };
    memcpy(ip.bytes, mnl_attr_get_payload(attribute), ip_size(&ip));
    return ip;
}

bool nl_address_decode(const struct nlmsghdr *message, struct nl_address *ret_address)
{
    const struct ifaddrmsg *fixed = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*fixed) ||
        (fixed->ifa_family != AF_INET && fixed->ifa_family != AF_INET6))
        return false;

    const uint8_t family = fixed->ifa_family == AF_INET ? IP_V4 : IP_V6;
    const uint16_t size = family == IP_V4 ? 4 : 16;
    const struct nl_wanted wanted[] = {
        { IFA_LOCAL, size },
        { IFA_ADDRESS, size },
        { IFA_FLAGS, sizeof(uint32_t) },
        { IFA_PROTO, sizeof(uint8_t) },
        { IFA_CACHEINFO, sizeof(struct ifa_cacheinfo) },
    };
    const struct nlattr *attributes[IFA_PROTO + 1];
    nl_parse(message, sizeof(*fixed), wanted, ARRAY_SIZE(wanted), attributes, IFA_PROTO);
    const struct nlattr *peer =
        attributes[IFA_ADDRESS] ? attributes[IFA_ADDRESS] : attributes[IFA_LOCAL];
    const struct nlattr *own = attributes[IFA_LOCAL] ? attributes[IFA_LOCAL] : peer;
    if (!own)
        return false;

    struct nl_address address = {
        .ifindex = fixed->ifa_index,
        .ip = get_ip(family, own),
        .peer = get_ip(family, peer),
        .length = fixed->ifa_prefixlen,
        .scope = fixed->ifa_scope,
        .flags = fixed->ifa_flags,
        .valid_s = NL_FOREVER,
        .preferred_s = NL_FOREVER,
    };
    if (address.length > ip_bits(&address.ip))
        return false;
    if (attributes[IFA_FLAGS])
        address.flags = mnl_attr_get_u32(attributes[IFA_FLAGS]);
    if (attributes[IFA_PROTO])
        address.protocol = mnl_attr_get_u8(attributes[IFA_PROTO]);
    if (attributes[IFA_CACHEINFO]) {
        struct ifa_cacheinfo times;
        memcpy(&times, mnl_attr_get_payload(attributes[IFA_CACHEINFO]), sizeof(times));
        address.valid_s = times.ifa_valid;
        address.preferred_s = times.ifa_prefered;
    }
    *ret_address = address;
    return true;
}

static void begin(struct nl_request *request, uint16_t type, uint16_t flags,
                  const struct nl_address *address)
{
    const struct ifaddrmsg fixed = {
        .ifa_family = address->ip.family == IP_V4 ? AF_INET : AF_INET6,
        .ifa_prefixlen = address->length,
        .ifa_scope = address->scope,
        .ifa_index = address->ifindex,
    };
    nl_begin(request, type, flags, &fixed, sizeof(fixed));
    nl_put_ip(request, IFA_LOCAL, &address->ip);
    nl_put_ip(request, IFA_ADDRESS,
              address->peer.family == IP_NONE ? &address->ip : &address->peer);
}

static int write_one(struct nl_socket *socket, uint16_t flags, const struct nl_address *address,
                     struct nl_result *result)
{
    const struct ifa_cacheinfo times = {
        .ifa_valid = address->valid_s,
        .ifa_prefered = address->preferred_s,
    };
    struct nl_request request;
    begin(&request, RTM_NEWADDR, NLM_F_CREATE | flags, address);
    nl_put_bytes(&request, IFA_CACHEINFO, &times, sizeof(times));
    nl_put_u32(&request, IFA_FLAGS, address->flags);
    if (address->protocol)
        nl_put_u8(&request, IFA_PROTO, address->protocol);
    return nl_run(socket, &request, result);
}

int nl_address_add(struct nl_socket *socket, const struct nl_address *address,
                   struct nl_result *result)
{
    return write_one(socket, NLM_F_EXCL, address, result);
}

int nl_address_replace(struct nl_socket *socket, const struct nl_address *address,
                       struct nl_result *result)
{
    return write_one(socket, NLM_F_REPLACE, address, result);
}

int nl_address_delete(struct nl_socket *socket, const struct nl_address *address,
                      struct nl_result *result)
{
    struct nl_request request;
    begin(&request, RTM_DELADDR, 0, address);
    return nl_run(socket, &request, result);
}

struct reading {
    nl_address_list addresses;
    size_t start; /* start of the rows of the current request */
    size_t limit; /* of addresses; 0: none */
};

static void reading_done(struct reading *reading)
{
    vec_done(&reading->addresses);
}

static int on_address(const struct nlmsghdr *row, void *context)
{
    struct reading *reading = context;
    struct nl_address address;
    if (reading->limit && reading->addresses.count >= reading->limit)
        return -E2BIG;
    return nl_address_decode(row, &address) ? vec_push(&reading->addresses, address) : 0;
}

static void restart(void *context)
{
    struct reading *reading = context;
    reading->addresses.count = reading->start;
}

int nl_address_dump(struct nl_socket *socket, uint32_t ifindex, nl_address_list *ret_addresses)
{
    return nl_address_dump_of(socket, NL_OWN_NSID, ifindex, 0, ret_addresses);
}

int nl_address_dump_of(struct nl_socket *socket, int32_t nsid, uint32_t ifindex, size_t limit,
                       nl_address_list *ret_addresses)
{
    static const uint8_t families[] = { AF_INET, AF_INET6 };
    CLEANUP(reading_done) struct reading reading = { .limit = limit };
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        const struct ifaddrmsg fixed = { .ifa_family = families[i], .ifa_index = ifindex };
        struct nl_request request;
        reading.start = reading.addresses.count;
        nl_begin(&request, RTM_GETADDR, 0, &fixed, sizeof(fixed));
        if (nsid != NL_OWN_NSID)
            nl_put_u32(&request, IFA_TARGET_NETNSID, (uint32_t)nsid);
        int r = nl_dump(socket, &request, on_address, restart, &reading);
        if (r < 0)
            return r;
    }
    *ret_addresses = TAKE_STRUCT(reading.addresses);
    return 0;
}
