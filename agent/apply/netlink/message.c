// SPDX-License-Identifier: Apache-2.0
/* Building and parsing of netlink messages; see message.h. */
#include "apply/netlink/message.h"

#include <errno.h>
#include <string.h>

void nl_begin(struct nl_request *request, uint16_t type, uint16_t flags, const void *fixed,
              size_t fixed_size)
{
    request->error = 0;
    request->header = mnl_nlmsg_put_header(request->buffer);
    request->header->nlmsg_type = type;
    request->header->nlmsg_flags = NLM_F_REQUEST | flags;
    memcpy(mnl_nlmsg_put_extra_header(request->header, fixed_size), fixed, fixed_size);
}

static void put(struct nl_request *request, uint16_t attribute, const void *value, size_t size)
{
    if (request->error == 0 &&
        !mnl_attr_put_check(request->header, sizeof(request->buffer), attribute, size, value))
        request->error = -EMSGSIZE;
}

void nl_put_u8(struct nl_request *request, uint16_t attribute, uint8_t value)
{
    put(request, attribute, &value, sizeof(value));
}

void nl_put_u32(struct nl_request *request, uint16_t attribute, uint32_t value)
{
    put(request, attribute, &value, sizeof(value));
}

void nl_put_string(struct nl_request *request, uint16_t attribute, const char *value)
{
    put(request, attribute, value, strlen(value) + 1);
}

void nl_put_ip(struct nl_request *request, uint16_t attribute, const struct ip *ip)
{
    put(request, attribute, ip->bytes, ip_size(ip));
}

void nl_put_bytes(struct nl_request *request, uint16_t attribute, const void *bytes, size_t size)
{
    put(request, attribute, bytes, size);
}

/* If there is no room, the nest is a plain attribute at the end of the content: it is never
 * sent. */
struct nlattr *nl_begin_nest(struct nl_request *request, uint16_t attribute, const void *fixed,
                             size_t fixed_size)
{
    struct nlattr *nest = mnl_nlmsg_get_payload_tail(request->header);
    put(request, attribute, fixed ? fixed : "", fixed_size);
    return nest;
}

void nl_end_nest(struct nl_request *request, struct nlattr *nest)
{
    if (request->error == 0)
        nest->nla_len =
            (uint16_t)((char *)mnl_nlmsg_get_payload_tail(request->header) - (char *)nest);
}

bool nl_message_ok(const struct nlmsghdr *message, int left)
{
    return mnl_nlmsg_ok(message, left) && message->nlmsg_len <= (uint32_t)left;
}

const struct nlattr *nl_next_attribute(const struct nlmsghdr *message, size_t fixed_size,
                                       const struct nlattr *previous)
{
    const char *end = mnl_nlmsg_get_payload_tail(message);
    const struct nlattr *next =
        previous ? mnl_attr_next(previous) : mnl_nlmsg_get_payload_offset(message, fixed_size);
    return mnl_attr_ok(next, (int)(end - (const char *)next)) ? next : NULL;
}

static bool fits(const struct nlattr *attribute, uint16_t size)
{
    uint16_t length = mnl_attr_get_payload_len(attribute);
    if (size > 0)
        return length == size;
    return memchr(mnl_attr_get_payload(attribute), '\0', length) != NULL;
}

void nl_parse(const struct nlmsghdr *message, size_t fixed_size, const struct nl_wanted *wanted,
              size_t wanted_count, const struct nlattr **attributes, uint16_t max)
{
    memset(attributes, 0, (max + 1u) * sizeof(*attributes));
    const struct nlattr *it = NULL;
    while ((it = nl_next_attribute(message, fixed_size, it))) {
        uint16_t type = mnl_attr_get_type(it);
        for (size_t i = 0; type <= max && i < wanted_count; i++)
            if (wanted[i].attribute == type && fits(it, wanted[i].size))
                attributes[type] = it;
    }
}

const struct nlattr *nl_next_inside(const struct nlattr *nest, const struct nlattr *previous)
{
    const char *end = (const char *)mnl_attr_get_payload(nest) + mnl_attr_get_payload_len(nest);
    const struct nlattr *next = previous ? mnl_attr_next(previous) : mnl_attr_get_payload(nest);
    return mnl_attr_ok(next, (int)(end - (const char *)next)) ? next : NULL;
}

const struct nlattr *nl_find(const struct nlattr *nest, uint16_t type)
{
    const struct nlattr *it = NULL;
    while ((it = nl_next_inside(nest, it)) && mnl_attr_get_type(it) != type)
        continue;
    return it;
}
