/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's copy on disk: the last known objects, for a start while the API server can't be
 * reached.
 *
 * A file of JSON, one value in a line: a head (version of the format, node and API server, time of
 * writing, and each kind's resourceVersion), the objects as model/fields/encode.h writes them, and
 * a last line with the number of objects and a checksum over all lines before it: SipHash-2-4 of
 * each line, keyed with the hash and the number of the lines before. A copy without the last line,
 * or that does not match it, is damaged and not used.
 *
 * A new copy is written to a temporary file, synced to disk and renamed over the old one. After a
 * crash at any step, one of the two is there, complete.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "store/store.h"

enum { COPY_FORMAT = 1, COPY_RESOURCE_VERSION_MAX = 32 };

/* Node and API server that the copy was made for; other nodes and clusters refuse it. Borrowed. */
struct copy_owner {
    const char *node, *server;
};

struct copy_kind {
    char resource_version[COPY_RESOURCE_VERSION_MAX]; /* "": none */
    int64_t synced_wall_ms;                           /* the kind was complete; 0: never */
};

struct copy_head {
    int64_t written_wall_ms;
    struct copy_kind kinds[KIND_COUNT];
};

struct copy_writer;

/*
 * Begins a copy of the store's objects at `path`. Arguments are copied, except the store, which
 * must outlive the writer and may change between its steps. Returns 0 or -errno.
 */
int copy_begin(const char *path, const struct copy_owner *owner, const struct copy_head *head,
               const struct store *store, struct copy_writer **ret_writer);

/*
 * Writes until the monotonic clock reaches `until_us`, but at least one object. Returns 1 when all
 * is written, 0 when there is more, or -errno.
 */
int copy_write(struct copy_writer *writer, int64_t until_us);

/*
 * Syncs the complete file and renames it to its path. Blocks until the disk has written the data;
 * the wait is shorter if some time has passed since the last copy_write(). Returns 0 or -errno.
 */
int copy_commit(struct copy_writer *writer);

/* How many objects, and bytes, were written so far. */
uint64_t copy_objects(const struct copy_writer *writer);
uint64_t copy_bytes(const struct copy_writer *writer);

/* Without copy_commit() the previous copy remains. */
void copy_writer_free(struct copy_writer *writer);
DEFINE_CLEANUP(struct copy_writer *, copy_writer_free);

/*
 * Reads the copy at `path` and puts its objects into the store under `origin`. Returns 1 and its
 * head; 0 if there is none; -EBADMSG if it is damaged, or of another format, node or cluster, and
 * -errno if it can't be read: with a fault, and the store unchanged; -ENOMEM. An object that this
 * agent can't decode is left out, with a fault.
 */
int copy_load(const char *path, const struct copy_owner *owner, const char *origin,
              struct store *store, struct copy_head *ret_head, struct faults *faults);
