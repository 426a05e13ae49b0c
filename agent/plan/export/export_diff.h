/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference between the planned documents and those in KV, in one merge in order of key.
 *
 * Beside each document of ours there is a marker, a key of its own below PREFIX/fingerpost/CLUSTER/
 * that names the document's Service. Only documents with a marker are ever removed, whatever their
 * key. A document of kube-service-exporter with the same content gets a marker, and is not written
 * again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/vec.h"
#include "plan/export/export_plan.h"
#include "plan/export/export_standing.h"

/* An existing key. All borrowed. */
struct export_entry {
    const char *key;
    const char *value; /* followed by a NUL; it may contain others */
    size_t length;
    uint64_t index;          /* ModifyIndex, for check-and-set */
    int64_t written_wall_ms; /* when it was written by us; 0: unknown */
};

int export_entry_cmp(const void *a, const void *b); /* by key */

/* In order of key; every marker of this cluster, and documents of any. */
typedef VEC(struct export_entry) export_entries;

/* One write. A marker follows its document's op, so that both can be in one transaction. */
struct export_op {
    bool remove, marker, nodes; /* `nodes`: it is the list of nodes */
    const char *key;            /* of the plan or the entries, or in the diff's memory */
    const char *value;          /* NULL: remove */
    uint64_t index;             /* required index; 0: the key must not exist */
};

/* Limits for lists that shrink, and which of them are lifted. */
struct export_hold {
    uint32_t shrink_percent; /* most of a list that may be removed in the hold-down: 0..100 */
    size_t most_documents, most_nodes; /* the longest within it, if longer than now; 0: unknown */
    bool documents, nodes;             /* it was held back long enough: allow it */
};

enum { EXPORT_HOLD_MIN = 10 }; /* fewer documents are removed whatever their share */

struct export_diff {
    struct arena *arena;
    VEC(struct export_op) ops;
    export_standings standings; /* of all planned documents, and all of ours */
    size_t owned;               /* documents with a marker, or planned */
    size_t nodes;               /* elements of the existing list of nodes */
    size_t held_documents;      /* that would be removed */
    size_t kept_documents;      /* of refused Services */
    bool held_nodes;            /* the list would shrink */
};

/*
 * Adds a fault for each wanted key with an unmarked value that is no JSON: the key is not written.
 * Returns 0 or -ENOMEM.
 */
int export_diff(const struct export_config *config, const struct export_plan *plan,
                const export_entries *have, const struct export_hold *hold,
                struct export_diff *ret_diff, struct faults *faults);

void export_diff_done(struct export_diff *diff);

/* "PREFIX/fingerpost/CLUSTER/". Returns 0 or -ENOMEM. */
int export_marker_prefix(const struct export_config *config, struct text *out);

/*
 * Whether two documents are equivalent: order of members, whitespace, and omitted empty members do
 * not count. Returns 1, 0; -EBADMSG: `have` is no JSON; -ENOMEM.
 */
int export_same(const char *wanted, const char *have, size_t have_length);
