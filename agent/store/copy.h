/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's copy on disk: what was known last, for a start while nobody can be asked.
 *
 * A file of JSON, one value in a line: a head (version of the format, whose copy it is, when and
 * from where in each kind's history it was made), the objects as model/fields/encode.h writes them,
 * and a last line with their number and a checksum over all lines before it: SipHash-2-4 of each
 * line, keyed with that of the line before. What lacks the last line, or disagrees with it, is
 * damaged and not used at all.
 *
 * A new copy is written beside the old one, brought to the disk and renamed over it; whatever
 * happens on the way, one of the two is there afterwards, whole.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "store/store.h"

enum { COPY_FORMAT = 1, COPY_RESOURCE_VERSION_MAX = 32 };

/* Whose copy it is: it is of no use to another node, or with another cluster. Borrowed. */
struct copy_owner {
    const char *node, *server;
};

struct copy_kind {
    char resource_version[COPY_RESOURCE_VERSION_MAX]; /* "": none */
    int64_t synced_wall_ms;                           /* the kind was known to be whole; 0: never */
};

struct copy_head {
    int64_t written_wall_ms;
    struct copy_kind kinds[KIND_COUNT];
};

struct copy_writer;

/*
 * Begins a copy of what the store holds, to be put at `path`. All is copied but the store, which
 * must outlive the writer and may change between its steps. Returns 0 or -errno.
 */
int copy_begin(const char *path, const struct copy_owner *owner, const struct copy_head *head,
               const struct store *store, struct copy_writer **ret_writer);

/*
 * Writes until the monotonic clock shows `until_us`, but one object at least. Returns 1 when all is
 * written, 0 when there is more, or -errno.
 */
int copy_write(struct copy_writer *writer, int64_t until_us);

/*
 * Puts what was written whole in its place. It waits for the disk, which had time to work since
 * copy_write() if there was a moment between. Returns 0 or -errno.
 */
int copy_commit(struct copy_writer *writer);

/* How many objects, and bytes, were written so far. */
uint64_t copy_objects(const struct copy_writer *writer);
uint64_t copy_bytes(const struct copy_writer *writer);

/* Without copy_commit() the copy that was there before stays. */
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
