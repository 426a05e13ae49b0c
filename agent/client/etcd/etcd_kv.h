/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcd's key-value API: writes bodies of requests and parses answers. Pure; etcd.h sends. Revisions
 * and lease ids are 64-bit numbers that are strings in JSON.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* The version of a key. */
struct etcd_version {
    int64_t mod_revision; /* of the last write; 0: there is no such key */
    int64_t lease;        /* that the key is attached to; 0: none */
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
 * /v3/kv/txn: puts the value if the key is at this version (0: does not exist) and has the value
 * `over` (NULL: any value). The revision alone is not enough: an etcd that was restored from a
 * snapshot counts on from there, and assigns a revision to another write than before. Lease ids are
 * not reused, so at least the write is one of the same agent.
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
    const char *value; /* NUL-terminated; "" of a deleted key */
    size_t length;
    struct etcd_version version; /* of a deletion: its revision */
    bool deleted;
};
typedef int (*etcd_each)(void *context, const struct etcd_entry *entry);

/* Of a header: the store's revision, and the cluster's id. */
struct etcd_header {
    int64_t revision;
    char cluster[24];
};

/*
 * Calls `each` with every key; returns 0, -EBADMSG if it is no such answer, -ENOMEM, or the result
 * of `each`.
 */
int etcd_read_range(const char *answer, size_t size, struct etcd_header *ret_header, etcd_each each,
                    void *context);
/* Whether a transaction succeeded, and its revision. Returns 0, -EBADMSG, -ENOMEM. */
int etcd_read_txn(const char *answer, size_t size, struct etcd_header *ret_header,
                  bool *ret_succeeded);
/*
 * The answer to a grant or a keep-alive of a lease: its id and its TTL; 0: there is no such lease.
 */
int etcd_read_lease(const char *answer, size_t size, int64_t *ret_lease, int64_t *ret_ttl_s);

/* One message of a watch, which is a JSON object. */
struct etcd_news {
    struct etcd_header header;
    bool created;      /* it begins */
    bool canceled;     /* it has ended */
    int64_t compacted; /* the watch was to begin before this revision, which is compacted; or 0 */
};
/* Calls `each` with the events. Returns as etcd_read_range() does. */
int etcd_read_news(const char *message, size_t size, struct etcd_news *ret_news, etcd_each each,
                   void *context);
