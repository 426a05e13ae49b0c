/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is true of each document: the plan beside what was read, key by key, for people. Found by
 * the walk of export_diff.h, which says what is to be written of the same.
 */
#pragma once

#include "base/vec.h"
#include "plan/export/export_plan.h"

enum export_state {
    EXPORT_UNKNOWN, /* what is there was not read yet */
    EXPORT_CURRENT, /* there, as planned */
    EXPORT_PENDING, /* is to be written */
    EXPORT_GOING,   /* is to be removed */
    EXPORT_HELD,    /* is to be written or removed, and is held back (export_hold) */
    EXPORT_KEPT,    /* of a Service that is refused: it stays as it was */
    EXPORT_BLOCKED, /* what is no JSON and not ours stands in its place */
    EXPORT_STATES
};

/* "current", ... */
const char *export_state_name(enum export_state state);

struct export_entry;

/* All borrowed, of the plan and of what was read. */
struct export_standing {
    const char *key;
    const char *owner;                    /* "namespace/name"; "nodes": the list of nodes */
    const struct export_document *wanted; /* NULL: is not planned */
    const struct export_entry *entry;     /* NULL: is not there */
    enum export_state state;
};

/* In order of key. */
typedef VEC(struct export_standing) export_standings;

/* How many are so. */
size_t export_standings_count(const export_standings *standings, enum export_state state);

/* Of a plan that is compared with nothing: all of it is unknown. Returns 0 or -ENOMEM. */
int export_standings_of(const struct export_plan *plan, export_standings *standings);

/* "namespace/name" of a document's Service, or "nodes": what stands in its marker. */
const char *export_document_owner(const struct export_document *document);
