/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netlink messages: builds requests, and parses the kernel's messages.
 *
 * Building has a sticky error: nl_put_*() return nothing, the first overflow is remembered, and the
 * function that sends the request reports it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "base/net/ip.h"

/* One request under construction. 512 bytes are enough for all of ours. */
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
/* Bytes unchanged: MAC addresses, structures of the kernel. */
void nl_put_bytes(struct nl_request *request, uint16_t attribute, const void *bytes, size_t size);
/* Attributes that are put between the two are nested. `fixed` (may be NULL) is put first. */
struct nlattr *nl_begin_nest(struct nl_request *request, uint16_t attribute, const void *fixed,
                             size_t fixed_size);
void nl_end_nest(struct nl_request *request, struct nlattr *nest);

/*
 * True if a whole message begins here and is within `left` bytes. mnl_nlmsg_ok() of libmnl 1.0.4
 * treats lengths above 2 GiB as negative, and accepts them.
 */
bool nl_message_ok(const struct nlmsghdr *message, int left);

/* The attribute after `previous` (NULL: the first one) of a message, or NULL. */
const struct nlattr *nl_next_attribute(const struct nlmsghdr *message, size_t fixed_size,
                                       const struct nlattr *previous);

/* Wanted attributes, as in BIRD: only these, and only with exactly this size, are used. */
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

/* The attribute after `previous` (NULL: the first one) in a nest, or NULL. */
const struct nlattr *nl_next_inside(const struct nlattr *nest, const struct nlattr *previous);

/* The first attribute of this type in a nest, or NULL. */
const struct nlattr *nl_find(const struct nlattr *nest, uint16_t type);
