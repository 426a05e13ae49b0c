// SPDX-License-Identifier: Apache-2.0
/*
 * Builds and sends transactions of nftables; see nft.h.
 *
 * The kernel expects a transaction as messages between NFNL_MSG_BATCH_BEGIN and _END in one
 * datagram (nfnetlink), processes all of them, and replies to each that it refuses. An error of the
 * whole transaction is a reply to the first message. Kernels differ in whether they acknowledge the
 * last message, so the message before it requests the acknowledgement.
 */
#include "apply/netlink/nft.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

enum { FIRST_ROOM = 8192 };

void nft_done(struct nft_batch *batch)
{
    free(batch->bytes);
    *batch = (struct nft_batch){ 0 };
}

/* Reserves `size` more bytes and returns them, all zero; NULL: no memory. */
static void *extend(struct nft_batch *batch, size_t size)
{
    const size_t aligned = MNL_ALIGN(size);
    if (batch->error < 0)
        return NULL;
    if (batch->size + aligned > batch->room) {
        size_t room = batch->room ? 2 * batch->room + aligned : FIRST_ROOM + aligned;
        char *more = realloc(batch->bytes, room);
        if (!more) {
            batch->error = -ENOMEM;
            return NULL;
        }
        batch->bytes = more;
        batch->room = room;
    }
    void *start = batch->bytes + batch->size;
    memset(start, 0, aligned);
    batch->size += aligned;
    return start;
}

/* The length in a message's header is set once the message is complete. */
static void close_message(struct nft_batch *batch)
{
    if (batch->error < 0 || batch->count == 0)
        return;
    struct nlmsghdr *header = (void *)(batch->bytes + batch->message);
    header->nlmsg_len = (uint32_t)(batch->size - batch->message);
}

static void begin(struct nft_batch *batch, unsigned type, unsigned flags, uint8_t family,
                  uint16_t resource)
{
    close_message(batch);
    const size_t at = batch->size;
    struct nlmsghdr *header = extend(batch, sizeof(*header) + sizeof(struct nfgenmsg));
    if (!header)
        return;
    struct nfgenmsg *fixed = mnl_nlmsg_get_payload(header);
    header->nlmsg_type = (uint16_t)type;
    header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    *fixed = (struct nfgenmsg){ family, NFNETLINK_V0, htons(resource) };
    batch->message = at;
    batch->count++;
}

void nft_begin(struct nft_batch *batch, unsigned type, unsigned flags, uint8_t family)
{
    if (batch->count == 0)
        begin(batch, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    begin(batch, NFNL_SUBSYS_NFTABLES << 8 | type, flags, family, 0);
}

void nft_put_bytes(struct nft_batch *batch, uint16_t attribute, const void *bytes, size_t size)
{
    const size_t length = sizeof(struct nlattr) + size;
    if (length > UINT16_MAX && batch->error == 0)
        batch->error = -EMSGSIZE;
    struct nlattr *header = extend(batch, length);
    if (!header)
        return;
    *header = (struct nlattr){ (uint16_t)length, attribute };
    memcpy(header + 1, bytes, size);
}

void nft_put_text(struct nft_batch *batch, uint16_t attribute, const char *value)
{
    nft_put_bytes(batch, attribute, value, strlen(value) + 1);
}

void nft_put_u32(struct nft_batch *batch, uint16_t attribute, uint32_t value)
{
    const uint32_t ordered = htonl(value);
    nft_put_bytes(batch, attribute, &ordered, sizeof(ordered));
}

size_t nft_begin_nest(struct nft_batch *batch, uint16_t attribute)
{
    const size_t at = batch->size;
    nft_put_bytes(batch, attribute | NLA_F_NESTED, "", 0);
    return at;
}

void nft_end_nest(struct nft_batch *batch, size_t nest)
{
    const size_t length = batch->size - nest;
    if (length > UINT16_MAX && batch->error == 0)
        batch->error = -EMSGSIZE;
    if (batch->error == 0)
        ((struct nlattr *)(void *)(batch->bytes + nest))->nla_len = (uint16_t)length;
}

/* User data is a row of type, length and value. */
void nft_put_comment(struct nft_batch *batch, uint16_t attribute, uint8_t type, const char *text)
{
    char data[2 + 128];
    const size_t size = MIN(strlen(text) + 1, sizeof(data) - 2);
    data[0] = (char)type;
    data[1] = (char)size;
    memcpy(data + 2, text, size);
    data[1 + size] = '\0';
    nft_put_bytes(batch, attribute, data, 2 + size);
}

size_t nft_length(const struct nft_batch *batch)
{
    return batch->size - batch->message;
}

int nft_commit(struct nl_socket *socket, struct nft_batch *batch, struct nl_result *result)
{
    struct nlmsghdr *last;
    if (batch->count == 0)
        return 0;
    const size_t at = batch->message;
    begin(batch, NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    close_message(batch);
    if (batch->error < 0)
        return batch->error;
    last = (void *)(batch->bytes + at);
    last->nlmsg_flags |= NLM_F_ACK;
    return nl_transact(socket, batch->bytes, batch->size, result);
}
