/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of nftables' rules, as nft would compile them: each function adds one expression, as
 * one attribute, to the transaction. Registers are the 4-byte ones, from NFT_REG32_00 on; longer
 * values use several.
 *
 *     size_t rule = nft_begin_rule(batch, NFPROTO_INET, "table", "chain");
 *     nft_load_meta(batch, NFT_META_NFPROTO, NFT_REG32_00);
 *     nft_compare(batch, NFT_REG32_00, NFT_CMP_EQ, &ipv4, 1);
 *     nft_verdict(batch, NF_ACCEPT);
 *     nft_end_rule(batch, rule, "what it is for");
 */
#pragma once

#include <linux/netfilter/nf_tables.h>

#include "apply/netlink/nft.h"

size_t nft_begin_rule(struct nft_batch *batch, uint8_t family, const char *table,
                      const char *chain);
/* `comment`: 127 bytes at the most. */
void nft_end_rule(struct nft_batch *batch, size_t rule, const char *comment);

void nft_load_meta(struct nft_batch *batch, uint32_t key, uint32_t reg);
void nft_load_payload(struct nft_batch *batch, uint32_t base, uint32_t offset, uint32_t length,
                      uint32_t reg);
void nft_load_ct(struct nft_batch *batch, uint32_t key, uint32_t reg);
/* The register becomes (itself & mask) ^ flip. */
void nft_bitwise(struct nft_batch *batch, uint32_t reg, uint32_t mask, uint32_t flip);
void nft_set_mark(struct nft_batch *batch, uint32_t reg);
void nft_compare(struct nft_batch *batch, uint32_t reg, uint32_t op, const void *bytes,
                 size_t size);
/* Continues if the set contains the key in the registers from `reg` on. */
void nft_look_up(struct nft_batch *batch, uint32_t reg, const char *set);
void nft_count(struct nft_batch *batch);
void nft_verdict(struct nft_batch *batch, uint32_t verdict);
