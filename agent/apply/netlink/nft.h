/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions of nftables: messages that the kernel carries out together or not at all, so that a
 * packet meets the rules of before or those of after.
 *
 * A transaction grows in memory and is sent as one datagram. Building has a sticky error, as for
 * single requests (message.h). Expressions of rules are attributes; nft_expr.h has those we use.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include "apply/netlink/nl.h"

/* Begins as { 0 }, ends with nft_done(). */
struct nft_batch {
    char *bytes;
    size_t size, room;
    size_t message; /* where the message under construction begins */
    uint32_t count; /* of messages, the first one included */
    int error;      /* 0, -ENOMEM, or -EMSGSIZE where an attribute is too long */
};

void nft_done(struct nft_batch *batch);

/* Begins a message NFT_MSG_*; what is put then belongs to it. `flags` as NLM_F_CREATE. */
void nft_begin(struct nft_batch *batch, unsigned type, unsigned flags, uint8_t family);
void nft_put_text(struct nft_batch *batch, uint16_t attribute, const char *value);
/* A number, which nftables wants in network order. */
void nft_put_u32(struct nft_batch *batch, uint16_t attribute, uint32_t value);
void nft_put_bytes(struct nft_batch *batch, uint16_t attribute, const void *bytes, size_t size);
/* What is put until nft_end_nest() is inside of it; returns where it begins. */
size_t nft_begin_nest(struct nft_batch *batch, uint16_t attribute);
void nft_end_nest(struct nft_batch *batch, size_t nest);
/* The same in short, for a comment that nft prints. `type`: of its user data. */
void nft_put_comment(struct nft_batch *batch, uint16_t attribute, uint8_t type, const char *text);

/* The bytes of the message under construction, to see whether it grows too long. */
size_t nft_length(const struct nft_batch *batch);

/*
 * Sends the transaction. Returns 0, or -errno with nothing changed; `result` has the kernel's words
 * about the first message that it refused. -EOPNOTSUPP, -EINVAL: a kernel without nftables.
 */
int nft_commit(struct nl_socket *socket, struct nft_batch *batch, struct nl_result *result);
