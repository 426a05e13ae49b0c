/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys a file has in the store, and the step from these to what it says now. */
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
 * Makes the objects (sorted by key, taken over) all that `origin` has in the store. Returns 0
 * or -ENOMEM: then a part may have changed, the keys cover it, and a second call brings the
 * rest.
 */
int file_keys_replace(struct file_keys *file_keys, struct store *store, const char *origin,
                      manifest_objects *objects);

void file_keys_done(struct file_keys *file_keys);
