/* SPDX-License-Identifier: Apache-2.0 */
/* What a target has of this cluster: a list of entries with the memory that it takes. */
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

/* Forgets all entries. Returns 0 or -ENOMEM. */
int export_store_clear(struct export_store *store);

/* Keeps an entry if it concerns this cluster: a document's key ends with it, a marker's begins so.
 * Returns 0 or -ENOMEM. */
int export_store_add(struct export_store *store, const struct export_entry *entry);

/* To be called after the last entry. */
void export_store_sort(struct export_store *store);
