/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that a file has in the store, and their replacement by the file's current objects. */
#pragma once

#include <stddef.h>

#include "source/manifest_file.h"
#include "store/store.h"

/* In order of key; for each the kind (one byte), namespace, NUL, name, NUL. */
struct file_keys {
    char *keys;
    size_t size;
};

/*
 * Replaces all objects that `origin` has in the store by these (sorted by key; ownership is taken).
 * Returns 0 or -ENOMEM: then a part may have changed, the keys cover it, and a second call
 * completes the change.
 */
int file_keys_replace(struct file_keys *file_keys, struct store *store, const char *origin,
                      manifest_objects *objects);

void file_keys_done(struct file_keys *file_keys);
