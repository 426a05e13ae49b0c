// SPDX-License-Identifier: Apache-2.0
/*
 * Entries of KV that belong to this cluster; see export_entries.h. Called by both targets.
 *
 * Documents of other clusters are between ours, under the same ids: they are not kept.
 */
#include "controller/export/export_entries.h"

#include <errno.h>
#include <string.h>

enum { ARENA_SIZE = 256 * 1024 };

int export_store_init(struct export_store *store, const struct export_config *config)
{
    *store = (struct export_store){ .config = config };
    text_addf(&store->suffix, "/clusters/%s", config->cluster);
    if (export_nodes_key(config, &store->nodes_key) < 0 ||
        export_marker_prefix(config, &store->marker_prefix) < 0 || text_error(&store->suffix) < 0)
        return -ENOMEM;
    return export_store_clear(store);
}

void export_store_done(struct export_store *store)
{
    text_done(&store->suffix);
    text_done(&store->nodes_key);
    text_done(&store->marker_prefix);
    vec_done(&store->entries);
    arena_free(store->arena);
    store->arena = NULL;
}

int export_store_clear(struct export_store *store)
{
    vec_clear(&store->entries);
    arena_free(store->arena);
    store->arena = arena_new(ARENA_SIZE);
    return store->arena ? 0 : -ENOMEM;
}

static bool concerns_us(const struct export_store *store, const char *key)
{
    size_t length = strlen(key), suffix = store->suffix.length;
    return strcmp(key, text_str(&store->nodes_key)) == 0 ||
           strncmp(key, text_str(&store->marker_prefix), store->marker_prefix.length) == 0 ||
           (length > suffix && strcmp(key + length - suffix, text_str(&store->suffix)) == 0);
}

int export_store_add(struct export_store *store, const struct export_entry *entry)
{
    if (!concerns_us(store, entry->key))
        return 0;
    struct export_entry copy = *entry;
    copy.key = arena_strdup(store->arena, entry->key);
    char *value = arena_alloc(store->arena, entry->length + 1);
    if (!copy.key || !value)
        return -ENOMEM;
    memcpy(value, entry->value, entry->length);
    copy.value = value;
    return vec_push(&store->entries, copy);
}

void export_store_sort(struct export_store *store)
{
    vec_sort(&store->entries, export_entry_cmp);
}
