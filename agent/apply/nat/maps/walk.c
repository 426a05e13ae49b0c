// SPDX-License-Identifier: Apache-2.0
/*
 * Walks by BPF_MAP_LOOKUP_BATCH (hash tables: Linux 5.6, tries: Linux 5.13).
 *
 * From a hash table the kernel copies whole buckets. It returns -ENOSPC if not even one fits; the
 * memory is doubled then. It returns -ENOENT at the end, and may still have copied entries. The
 * token from which to continue is a bucket's number in hash tables, and a whole key in tries.
 */
#include "apply/nat/maps/walk.h"

#include <bpf/bpf.h>
#include <errno.h>

enum { ROOM = 1024, MAX_ROOM = 1 << 20 };

void nat_walk_start(struct nat_walk *walk, int fd, uint32_t key_size, uint32_t value_size)
{
    *walk = (struct nat_walk){ .fd = fd, .key_size = key_size, .value_size = value_size };
}

void nat_walk_done(struct nat_walk *walk)
{
    free(walk->keys);
    free(walk->values);
    walk->keys = walk->values = NULL;
    walk->room = 0;
}

void nat_walk_again(struct nat_walk *walk)
{
    walk->started = walk->ended = false;
    walk->count = 0;
}

static int grow(struct nat_walk *walk)
{
    uint32_t room = walk->room ? 2 * walk->room : ROOM;
    if (room > MAX_ROOM)
        return -E2BIG;
    nat_walk_done(walk);
    walk->keys = reallocarray(NULL, room, walk->key_size);
    walk->values = reallocarray(NULL, room, walk->value_size);
    if (!walk->keys || !walk->values)
        return -ENOMEM;
    walk->room = room;
    return 0;
}

static int fetch(struct nat_walk *walk)
{
    uint64_t next[5];
    walk->count = walk->room;
    if (bpf_map_lookup_batch(walk->fd, walk->started ? walk->token : NULL, next, walk->keys,
                             walk->values, &walk->count, NULL) < 0) {
        if (errno != ENOENT)
            return -errno;
        walk->ended = true;
    }
    walk->started = true;
    for (int i = 0; i < 5; i++)
        walk->token[i] = next[i];
    return 0;
}

int nat_walk_next(struct nat_walk *walk)
{
    while (!walk->ended) {
        int r = walk->room ? fetch(walk) : -ENOSPC;
        if (r == -ENOSPC)
            r = grow(walk);
        else if (r == 0 && walk->count > 0)
            return 1;
        if (r < 0) {
            walk->count = 0;
            return r;
        }
    }
    walk->count = 0;
    return 0;
}
