/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions of nftables: the kernel applies all messages together or none, so that a packet
 * meets either the old rules or the new ones.
 *
 * A transaction grows in memory and is sent as one datagram. Building has a sticky error, as for
 * single requests (message.h). Expressions of rules are attributes; nft_expr.h has those that we
 * use.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include "apply/netlink/nl.h"

/* Initialized with { 0 }, freed by nft_done(). */
struct nft_batch {
    char *bytes;
    size_t size, room;
    size_t message; /* start of the message under construction */
    uint32_t count; /* of messages, the first one included */
    int error;      /* 0, -ENOMEM, or -EMSGSIZE where an attribute is too long */
};

void nft_done(struct nft_batch *batch);

/* Begins a message NFT_MSG_*; everything put afterwards belongs to it. `flags` as NLM_F_CREATE. */
void nft_begin(struct nft_batch *batch, unsigned type, unsigned flags, uint8_t family);
void nft_put_text(struct nft_batch *batch, uint16_t attribute, const char *value);
/* A number, in network order as nftables requires. */
void nft_put_u32(struct nft_batch *batch, uint16_t attribute, uint32_t value);
void nft_put_bytes(struct nft_batch *batch, uint16_t attribute, const void *bytes, size_t size);
/* Attributes put until nft_end_nest() are nested; returns the start of the nest. */
size_t nft_begin_nest(struct nft_batch *batch, uint16_t attribute);
void nft_end_nest(struct nft_batch *batch, size_t nest);
/* The same in one call, for a comment that nft prints. `type`: of its user data. */
void nft_put_comment(struct nft_batch *batch, uint16_t attribute, uint8_t type, const char *text);

/* The length of the message under construction, to detect that it gets too long. */
size_t nft_length(const struct nft_batch *batch);

/*
 * Sends the transaction. Returns 0, or -errno with nothing changed; `result` has the kernel's error
 * text for the first message that it refused. -EOPNOTSUPP, -EINVAL: a kernel without nftables.
 */
int nft_commit(struct nl_socket *socket, struct nft_batch *batch, struct nl_result *result);
