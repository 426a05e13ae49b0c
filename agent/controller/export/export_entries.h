/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of this cluster at a target: a list with its memory. */
#pragma once

#include "plan/export/export_diff.h"

struct export_store {
    const struct export_config *config;
    struct arena *arena;
    export_entries entries;
    struct text nodes_key, marker_prefix, suffix;
};

/* Returns 0 or -ENOMEM. */
int export_store_init(struct export_store *store, const struct export_config *config);
void export_store_done(struct export_store *store);

/* Removes all entries. Returns 0 or -ENOMEM. */
int export_store_clear(struct export_store *store);

/* Adds an entry if it belongs to this cluster: a document's key ends with the cluster's id, a
 * marker's key begins with it. Returns 0 or -ENOMEM. */
int export_store_add(struct export_store *store, const struct export_entry *entry);

/* To be called after the last entry. */
void export_store_sort(struct export_store *store);
