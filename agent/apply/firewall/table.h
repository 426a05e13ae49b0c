/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes the table as messages: its sets, chain, rules and elements. Internal to firewall/. */
#pragma once

#include "apply/firewall/firewall.h"
#include "apply/netlink/nft.h"

/* The sets, and their contents. */
enum firewall_set { SET_OPENED_V4, SET_OPENED_V6, SET_CLOSED_V4, SET_CLOSED_V6, FIREWALL_SETS };
extern const char *const firewall_set_names[FIREWALL_SETS];

#define FIREWALL_CHAIN_MARK  "mark-what-services-opened"
#define FIREWALL_CHAIN_INPUT "input-of-service-addresses"

/* The comment of the table, by which a later agent recognizes its rules. */
enum { FIREWALL_COMMENT_LEN = 120 };
void firewall_comment(const struct firewall_rules *rules, char buffer[static FIREWALL_COMMENT_LEN]);
/* Returns the total number of rules. */
size_t firewall_rule_count(const struct firewall_rules *rules);

/* Add to the transaction: the table with sets, chain and rules; its deletion. */
void firewall_put_table(struct nft_batch *batch, const struct firewall_rules *rules);
void firewall_put_deletion(struct nft_batch *batch);
/* Adds NFT_MSG_NEWSETELEM or NFT_MSG_DELSETELEM for all elements of the sets. */
void firewall_put_elements(struct nft_batch *batch, unsigned message,
                           const struct firewall_sets *sets);

/* The elements of a set as they are in the kernel. Return false for a key of another size. */
bool firewall_read_opening(enum firewall_set set, const uint8_t *key, size_t size,
                           struct opening *ret_opening);
bool firewall_read_closed(enum firewall_set set, const uint8_t *key, size_t size,
                          struct ip *ret_ip);
