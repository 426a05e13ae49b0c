/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of etcd's key-value API: bodies of requests, and what is read of answers. Pure; etcd.h
 * sends. Revisions and lease ids are 64-bit numbers that JSON has as strings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Of a key as it is there. */
struct etcd_version {
    int64_t mod_revision; /* of the write that made it so; 0: there is no such key */
    int64_t lease;        /* that it ends with; 0: none */
};

/* "REVISION-LEASE" and back. Reading returns 0 or -EINVAL. */
enum { ETCD_VERSION_LEN = 48 };
void etcd_version_str(const struct etcd_version *version, char buffer[static ETCD_VERSION_LEN]);
int etcd_version_parse(const char *text, struct etcd_version *ret_version);

/* ---- bodies ---- */

/* /v3/kv/range of one key; of all keys that begin with the prefix. */
void etcd_get(struct text *body, const char *key);
void etcd_list(struct text *body, const char *prefix);
/*
 * /v3/kv/txn: puts the value if the key is at this version (0: is not there), and has the value
 * `over` (NULL: whatever it has). A revision alone does not tell: an etcd that was restored from a
 * snapshot counts again from there, and gives a number to another write than before. Leases have
 * ids that do not come again, so it is a write of the same agent at least.
 */
void etcd_put_if(struct text *body, const char *key, const char *value, int64_t lease,
                 const struct etcd_version *version, const char *over);
/* /v3/kv/txn: deletes the key if it is at this version. */
void etcd_delete_if(struct text *body, const char *key, const struct etcd_version *version);
/* /v3/watch of all keys that begin with the prefix, from a revision on. */
void etcd_watch_from(struct text *body, const char *prefix, int64_t revision);
/* /v3/lease/grant, /v3/lease/keepalive. */
void etcd_grant(struct text *body, int64_t ttl_s);
void etcd_keep_alive(struct text *body, int64_t lease);

/* ---- answers ---- */

struct etcd_entry {
    const char *key;
    const char *value; /* a NUL follows; "" of one that was deleted */
    size_t length;
    struct etcd_version version; /* of a deletion: its revision */
    bool deleted;
};
typedef int (*etcd_each)(void *context, const struct etcd_entry *entry);

/* What a header says: the store's revision, and which cluster it is. */
struct etcd_header {
    int64_t revision;
    char cluster[24];
};

/* Calls `each` with every key; returns 0, -EBADMSG for what is no such answer, -ENOMEM, or what
 * `each` returned. */
int etcd_read_range(const char *answer, size_t size, struct etcd_header *ret_header, etcd_each each,
                    void *context);
/* Whether a transaction was done, and the revision of it. Returns 0, -EBADMSG, -ENOMEM. */
int etcd_read_txn(const char *answer, size_t size, struct etcd_header *ret_header,
                  bool *ret_succeeded);
/* What a lease was granted or prolonged by: its id, and its time; 0: there is no such lease. */
int etcd_read_lease(const char *answer, size_t size, int64_t *ret_lease, int64_t *ret_ttl_s);

/* One message of a watch, which is a JSON object. */
struct etcd_news {
    struct etcd_header header;
    bool created;      /* it begins */
    bool canceled;     /* it has ended */
    int64_t compacted; /* it was to begin before this revision, of which nothing is known; or 0 */
};
/* `each` gets the events. Returns as etcd_read_range() does. */
int etcd_read_news(const char *message, size_t size, struct etcd_news *ret_news, etcd_each each,
                   void *context);
