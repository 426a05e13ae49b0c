/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netlink messages: requests that are put together, and messages of the kernel taken apart.
 *
 * Building has a sticky error: nl_put_*() return nothing, the first overflow is remembered, and
 * whatever sends the request reports it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "base/net/ip.h"

/* One request under construction. 512 bytes hold any of ours. */
struct nl_request {
    char buffer[512] __attribute__((aligned(8)));
    struct nlmsghdr *header;
    int error; /* 0, or -EMSGSIZE at the first attribute that did not fit */
};

/* Begins a request of this type, flags (NLM_F_REQUEST is added) and fixed part. */
void nl_begin(struct nl_request *request, uint16_t type, uint16_t flags, const void *fixed,
              size_t fixed_size);
void nl_put_u8(struct nl_request *request, uint16_t attribute, uint8_t value);
void nl_put_u32(struct nl_request *request, uint16_t attribute, uint32_t value);
void nl_put_string(struct nl_request *request, uint16_t attribute, const char *value);
void nl_put_ip(struct nl_request *request, uint16_t attribute, const struct ip *ip);
/* Bytes as they are: MAC addresses, structures of the kernel. */
void nl_put_bytes(struct nl_request *request, uint16_t attribute, const void *bytes, size_t size);
/* What is put between the two is inside of the attribute. `fixed` (may be NULL) goes first. */
struct nlattr *nl_begin_nest(struct nl_request *request, uint16_t attribute, const void *fixed,
                             size_t fixed_size);
void nl_end_nest(struct nl_request *request, struct nlattr *nest);

/*
 * True if a whole message begins here and `left` bytes hold it. mnl_nlmsg_ok() of libmnl 1.0.4
 * takes lengths above 2 GiB for negative, and good.
 */
bool nl_message_ok(const struct nlmsghdr *message, int left);

/* The attribute behind `previous` (NULL: the first one) of a message, or NULL. */
const struct nlattr *nl_next_attribute(const struct nlmsghdr *message, size_t fixed_size,
                                       const struct nlattr *previous);

/* Wanted attributes in BIRD's manner: only these, and only of this exact size, reach the logic. */
struct nl_wanted {
    uint16_t attribute;
    uint16_t size; /* 0: a NUL-terminated string */
};

/*
 * Fills `attributes[0..max]` (indexed by attribute) with the wanted ones of a message whose fixed
 * part has this size. Attributes of another size are left out, as if absent.
 */
void nl_parse(const struct nlmsghdr *message, size_t fixed_size, const struct nl_wanted *wanted,
              size_t wanted_count, const struct nlattr **attributes, uint16_t max);

/* The attribute behind `previous` (NULL: the first one) inside of another, or NULL. */
const struct nlattr *nl_next_inside(const struct nlattr *nest, const struct nlattr *previous);

/* The first attribute of this type inside of another, or NULL. */
const struct nlattr *nl_find(const struct nlattr *nest, uint16_t type);
