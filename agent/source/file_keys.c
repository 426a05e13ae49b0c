// SPDX-License-Identifier: Apache-2.0
/*
 * The step from a file's old content to its new one in the store; called by manifest.c.
 *
 * The store can't list the keys of an origin, so each file stores its keys: packed, because a file
 * may hold a hundred thousand. Old keys and new objects are in the same order, so one merge walk
 * finds removed objects.
 *
 * Removed objects are deleted first. Then the new keys cover everything that is left, and a put
 * that fails for lack of memory leaves no object without a stored key.
 */
#include "source/file_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Reads the key at `at`, as far as keys are compared; returns where the next one begins. */
static const char *key_read(const char *at, struct object *ret_key)
{
    const char *namespace = at + 1;
    const char *name = namespace + strlen(namespace) + 1;
    *ret_key = (struct object){ .kind = (enum kind) * at, .namespace = namespace, .name = name };
    return name + strlen(name) + 1;
}

static void key_write(struct text *keys, const struct object *object)
{
    text_add_char(keys, (char)object->kind);
    text_add_bytes(keys, object->namespace, strlen(object->namespace) + 1);
    text_add_bytes(keys, object->name, strlen(object->name) + 1);
}

static int remove_others(const struct file_keys *file_keys, struct store *store, const char *origin,
                         const manifest_objects *objects)
{
    size_t next = 0;
    const char *end = file_keys->keys + file_keys->size;
    for (const char *at = file_keys->keys; at < end;) {
        struct object key;
        at = key_read(at, &key);
        while (next < objects->count && object_key_cmp(objects->items[next], &key) < 0)
            next++;
        if (next < objects->count && object_key_cmp(objects->items[next], &key) == 0)
            continue;
        int r = store_remove(store, origin, key.kind, key.namespace, key.name);
        if (r < 0)
            return r;
    }
    return 0;
}

int file_keys_replace(struct file_keys *file_keys, struct store *store, const char *origin,
                      manifest_objects *objects)
{
    AUTOTEXT struct text keys = { 0 };
    for (size_t i = 0; i < objects->count; i++)
        key_write(&keys, objects->items[i]);
    if (text_error(&keys) < 0)
        return -ENOMEM;

    int r = remove_others(file_keys, store, origin, objects);
    if (r < 0)
        return r;

    file_keys_done(file_keys);
    file_keys->size = keys.length;
    file_keys->keys = keys.length ? text_take(&keys) : NULL;
    for (size_t i = 0; i < objects->count; i++) {
        r = store_put(store, origin, TAKE_PTR(objects->items[i]));
        if (r < 0)
            return r;
    }
    return 0;
}

void file_keys_done(struct file_keys *file_keys)
{
    free(file_keys->keys);
    *file_keys = (struct file_keys){ 0 };
}
