// SPDX-License-Identifier: Apache-2.0
/* Expressions of nftables' rules; see nft_expr.h. Registers have the byte order of the wire, but
 * marks and states of connections have that of the host. */
#include "apply/netlink/nft_expr.h"

enum { RULE_COMMENT = 0 /* type of user data, as nft has it */ };

/* One expression with its name and attributes. */
struct expr {
    size_t element, data;
};

static struct expr begin(struct nft_batch *batch, const char *name)
{
    struct expr expr;
    expr.element = nft_begin_nest(batch, NFTA_LIST_ELEM);
    nft_put_text(batch, NFTA_EXPR_NAME, name);
    expr.data = nft_begin_nest(batch, NFTA_EXPR_DATA);
    return expr;
}

static void end(struct nft_batch *batch, struct expr expr)
{
    nft_end_nest(batch, expr.data);
    nft_end_nest(batch, expr.element);
}

static void put_value(struct nft_batch *batch, uint16_t attribute, const void *bytes, size_t size)
{
    size_t nest = nft_begin_nest(batch, attribute);
    nft_put_bytes(batch, NFTA_DATA_VALUE, bytes, size);
    nft_end_nest(batch, nest);
}

size_t nft_begin_rule(struct nft_batch *batch, uint8_t family, const char *table, const char *chain)
{
    nft_begin(batch, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, family);
    nft_put_text(batch, NFTA_RULE_TABLE, table);
    nft_put_text(batch, NFTA_RULE_CHAIN, chain);
    return nft_begin_nest(batch, NFTA_RULE_EXPRESSIONS);
}

void nft_end_rule(struct nft_batch *batch, size_t rule, const char *comment)
{
    nft_end_nest(batch, rule);
    nft_put_comment(batch, NFTA_RULE_USERDATA, RULE_COMMENT, comment);
}

void nft_load_meta(struct nft_batch *batch, uint32_t key, uint32_t reg)
{
    struct expr expr = begin(batch, "meta");
    nft_put_u32(batch, NFTA_META_KEY, key);
    nft_put_u32(batch, NFTA_META_DREG, reg);
    end(batch, expr);
}

void nft_set_mark(struct nft_batch *batch, uint32_t reg)
{
    struct expr expr = begin(batch, "meta");
    nft_put_u32(batch, NFTA_META_KEY, NFT_META_MARK);
    nft_put_u32(batch, NFTA_META_SREG, reg);
    end(batch, expr);
}

void nft_load_payload(struct nft_batch *batch, uint32_t base, uint32_t offset, uint32_t length,
                      uint32_t reg)
{
    struct expr expr = begin(batch, "payload");
    nft_put_u32(batch, NFTA_PAYLOAD_DREG, reg);
    nft_put_u32(batch, NFTA_PAYLOAD_BASE, base);
    nft_put_u32(batch, NFTA_PAYLOAD_OFFSET, offset);
    nft_put_u32(batch, NFTA_PAYLOAD_LEN, length);
    end(batch, expr);
}

void nft_load_ct(struct nft_batch *batch, uint32_t key, uint32_t reg)
{
    struct expr expr = begin(batch, "ct");
    nft_put_u32(batch, NFTA_CT_KEY, key);
    nft_put_u32(batch, NFTA_CT_DREG, reg);
    end(batch, expr);
}

void nft_bitwise(struct nft_batch *batch, uint32_t reg, uint32_t mask, uint32_t flip)
{
    struct expr expr = begin(batch, "bitwise");
    nft_put_u32(batch, NFTA_BITWISE_SREG, reg);
    nft_put_u32(batch, NFTA_BITWISE_DREG, reg);
    nft_put_u32(batch, NFTA_BITWISE_LEN, sizeof(mask));
    put_value(batch, NFTA_BITWISE_MASK, &mask, sizeof(mask));
    put_value(batch, NFTA_BITWISE_XOR, &flip, sizeof(flip));
    end(batch, expr);
}

void nft_compare(struct nft_batch *batch, uint32_t reg, uint32_t op, const void *bytes, size_t size)
{
    struct expr expr = begin(batch, "cmp");
    nft_put_u32(batch, NFTA_CMP_SREG, reg);
    nft_put_u32(batch, NFTA_CMP_OP, op);
    put_value(batch, NFTA_CMP_DATA, bytes, size);
    end(batch, expr);
}

void nft_look_up(struct nft_batch *batch, uint32_t reg, const char *set)
{
    struct expr expr = begin(batch, "lookup");
    nft_put_text(batch, NFTA_LOOKUP_SET, set);
    nft_put_u32(batch, NFTA_LOOKUP_SREG, reg);
    end(batch, expr);
}

void nft_count(struct nft_batch *batch)
{
    end(batch, begin(batch, "counter"));
}

void nft_verdict(struct nft_batch *batch, uint32_t verdict)
{
    struct expr expr = begin(batch, "immediate");
    nft_put_u32(batch, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    size_t data = nft_begin_nest(batch, NFTA_IMMEDIATE_DATA);
    size_t inner = nft_begin_nest(batch, NFTA_DATA_VERDICT);
    nft_put_u32(batch, NFTA_VERDICT_CODE, verdict);
    nft_end_nest(batch, inner);
    nft_end_nest(batch, data);
    end(batch, expr);
}
