/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the kernel's messages about nftables; malformed parts are treated as absent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

/* The attribute of a message of netfilter, or NULL. */
const struct nlattr *nft_attribute(const struct nlmsghdr *row, uint16_t type);
/* NFPROTO_*; 0 of a message that is too short. */
uint8_t nft_family(const struct nlmsghdr *row);
/* A number of four bytes, or 0; a string, or "". Both accept NULL. */
uint32_t nft_number(const struct nlattr *attribute);
const char *nft_text(const struct nlattr *attribute);
/* Whether user data begins with this comment. */
bool nft_has_comment(const struct nlattr *userdata, const char *comment);

/* The values in a rule's expressions that programs other than nft may need. */
struct nft_rule_words {
    uint64_t packets; /* of its counters */
    uint32_t verdict;
    bool has_verdict;
};
struct nft_rule_words nft_rule_words(const struct nlattr *expressions);

/* Calls `each` with the key of every element; returns 0, or the first negative result. */
int nft_each_key(const struct nlattr *elements,
                 int (*each)(const struct nlattr *key, void *context), void *context);
