/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consul's KV: splits a recursive answer into entries while it arrives, and builds transactions of
 * writes with check-and-set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/text.h"

struct consul_entry {
    const char *key;
    const char *value; /* NUL-terminated; may contain NULs */
    size_t length;
    uint64_t index;      /* ModifyIndex */
    uint64_t flags;      /* a number that the writer may choose */
    const char *session; /* that holds it as a lock; "": none */
};

struct consul_reader;

enum {
    CONSUL_ENTRY_MAX = 2 * 1024 * 1024, /* bytes of an entry in the answer */
    CONSUL_TXN_OPS = 64,                /* of one transaction: 1.13 takes no more */
    CONSUL_TXN_BYTES = 384 * 1024,      /* of a transaction's body: Consul takes 512 KiB */
};

/*
 * `each` is called with every entry, borrowed; a result other than 0 ends the reading. NULL: no
 * memory.
 */
struct consul_reader *
consul_reader_new(int (*each)(void *context, const struct consul_entry *entry), void *context);
void consul_reader_free(struct consul_reader *reader);
DEFINE_CLEANUP(struct consul_reader *, consul_reader_free);

/*
 * Feeds the next bytes of the answer. Returns 0, -EBADMSG if they are no list of entries, -ENOMEM,
 * or the result of `each`.
 */
int consul_reader_push(struct consul_reader *reader, const char *bytes, size_t size);

/* Whether the end of the list was read. */
bool consul_reader_is_complete(const struct consul_reader *reader);

/* The body of PUT /v1/txn, built step by step. Begins as { 0 }; consul_txn_end() completes it. */
struct consul_txn {
    struct text body;
    unsigned ops;
};

/* Fails unless this session holds the key as a lock. */
void consul_txn_check_session(struct consul_txn *txn, const char *key, const char *session);
/*
 * `index`: the ModifyIndex that the key must have; 0: the key must not exist. `flags` are stored
 * beside the value; consumers that read only values do not see them.
 */
void consul_txn_put(struct consul_txn *txn, const char *key, const char *value, size_t length,
                    uint64_t index, uint64_t flags);
void consul_txn_remove(struct consul_txn *txn, const char *key, uint64_t index);

/* Whether an op with a value of that length still fits. */
bool consul_txn_has_room(const struct consul_txn *txn, size_t ops, size_t bytes);

/* The body, borrowed; NULL: no memory. */
const char *consul_txn_end(struct consul_txn *txn);
void consul_txn_done(struct consul_txn *txn);

/* The first reason of a rejected transaction (status 409), for people. */
void consul_txn_reason(const char *answer, size_t size, struct text *out);
