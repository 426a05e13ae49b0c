/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference between the documents that are planned and what stands in KV, as one walk over
 * both in order of key.
 *
 * Beside each document of ours there is a marker, a key of its own below PREFIX/fingerpost/CLUSTER/
 * that names the document's Service. Only what has a marker is ever removed, whatever its key looks
 * like. A document that kube-service-exporter wrote and that says the same gets a marker, and is
 * not written again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/vec.h"
#include "plan/export/export_plan.h"
#include "plan/export/export_standing.h"

/* A key that is there. All borrowed. */
struct export_entry {
    const char *key;
    const char *value; /* a NUL follows; it may have others inside */
    size_t length;
    uint64_t index;          /* of the last change, for check-and-set */
    int64_t written_wall_ms; /* when it was written by us; 0: nobody knows */
};

int export_entry_cmp(const void *a, const void *b); /* by key */

/* In order of key; every marker of this cluster, and documents of any. */
typedef VEC(struct export_entry) export_entries;

/* One write. A marker follows its document's op, so that both fit into one transaction. */
struct export_op {
    bool remove, marker, nodes; /* `nodes`: it is the list of nodes */
    const char *key;            /* of the plan or the entries, or in the diff's memory */
    const char *value;          /* NULL: remove */
    uint64_t index;             /* what must be there: 0 is nothing */
};

/* What is held back. */
struct export_hold {
    uint32_t shrink_percent;           /* more of a list may not go within the hold-down: 0..100 */
    size_t most_documents, most_nodes; /* the longest within it, if longer than now; 0: unknown */
    bool documents, nodes;             /* it was held back long enough: let it go */
};

enum { EXPORT_HOLD_MIN = 10 }; /* fewer documents go whatever their share */

struct export_diff {
    struct arena *arena;
    VEC(struct export_op) ops;
    export_standings standings; /* of all that is planned, and all that is ours */
    size_t owned;               /* documents with a marker, or planned */
    size_t nodes;               /* elements of the list of nodes that is there */
    size_t held_documents;      /* that would go */
    size_t kept_documents;      /* of refused Services */
    bool held_nodes;            /* the list would shrink */
};

/*
 * Adds a fault for each key that is wanted and holds what is no JSON, unmarked: it is not touched.
 * Returns 0 or -ENOMEM.
 */
int export_diff(const struct export_config *config, const struct export_plan *plan,
                const export_entries *have, const struct export_hold *hold,
                struct export_diff *ret_diff, struct faults *faults);

void export_diff_done(struct export_diff *diff);

/* "PREFIX/fingerpost/CLUSTER/". Returns 0 or -ENOMEM. */
int export_marker_prefix(const struct export_config *config, struct text *out);

/* Whether two documents say the same to who reads them: order of members, spaces, and members that
 * are left out for being empty do not count. Returns 1, 0; -EBADMSG: `have` is no JSON; -ENOMEM. */
int export_same(const char *wanted, const char *have, size_t have_length);
