/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of each document: the plan compared with what was read, by key, for operators. Computed
 * by export_diff.h together with the writes.
 */
#pragma once

#include "base/vec.h"
#include "plan/export/export_plan.h"

enum export_state {
    EXPORT_UNKNOWN, /* the existing value was not read yet */
    EXPORT_CURRENT, /* exists as planned */
    EXPORT_PENDING, /* is to be written */
    EXPORT_GOING,   /* is to be removed */
    EXPORT_HELD,    /* its write or removal is held back (export_hold) */
    EXPORT_KEPT,    /* of a refused Service: it stays unchanged */
    EXPORT_BLOCKED, /* the key has a foreign value that is no JSON */
    EXPORT_STATES
};

/* "current", ... */
const char *export_state_name(enum export_state state);

struct export_entry;

/* All borrowed from the plan and from what was read. */
struct export_standing {
    const char *key;
    const char *owner;                    /* "namespace/name"; "nodes": the list of nodes */
    const struct export_document *wanted; /* NULL: not planned */
    const struct export_entry *entry;     /* NULL: not existing */
    enum export_state state;
};

/* In order of key. */
typedef VEC(struct export_standing) export_standings;

/* The number of documents in a state. */
size_t export_standings_count(const export_standings *standings, enum export_state state);

/* The states of a plan without a comparison: all unknown. Returns 0 or -ENOMEM. */
int export_standings_of(const struct export_plan *plan, export_standings *standings);

/* "namespace/name" of a document's Service, or "nodes": the content of its marker. */
const char *export_document_owner(const struct export_document *document);
