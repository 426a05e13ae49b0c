/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of small stores in a folder of the test's own. */
#pragma once

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/macro.h"
#include "base/text.h"
#include "model/fields/encode.h"
#include "objects.h"
#include "store/copy.h"

static const struct copy_owner copy_of_n1 = { .node = "n1", .server = "https://api:6443" };

struct copies {
    char folder[64], path[96];
    struct store *store; /* what is copied */
};

/* Objects of one generation: each carries it, so that a mixture would be seen. */
static inline void put_generation(struct store *store, int count, uint16_t generation)
{
    for (int i = 0; i < count; i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "web-%d", i);
        assert_true(store_put(store, "api", make_slice(name, "web", generation)) >= 0);
    }
}

static inline struct copies *copies_new(void)
{
    struct copies *copies = calloc(1, sizeof(*copies));
    if (!copies)
        abort();
    (void)strcpy(copies->folder, "/tmp/fingerpost-copy-XXXXXX");
    assert_non_null(mkdtemp(copies->folder));
    (void)snprintf(copies->path, sizeof(copies->path), "%s/objects", copies->folder);
    copies->store = store_new();
    return copies;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void copies_free(struct copies *copies)
{
    (void)nftw(copies->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    store_free(copies->store);
    free(copies);
}
DEFINE_CLEANUP(struct copies *, copies_free);

#define AUTOCOPIES CLEANUP(copies_freep)

/* Writes a copy from beginning to end. Returns 0 or -errno. */
static inline int copy_whole(const struct copies *copies, const struct copy_head *head)
{
    CLEANUP(copy_writer_freep) struct copy_writer *writer = NULL;
    int r = copy_begin(copies->path, &copy_of_n1, head, copies->store, &writer);
    if (r < 0)
        return r;
    r = copy_write(writer, INT64_MAX);
    return r < 0 ? r : copy_commit(writer);
}

/* Every object, in order, as one text that the caller frees. */
static inline char *describe_store(const struct store *store)
{
    struct text text = { 0 };
    text_add(&text, "");
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        AUTOVEC object_list list = { 0 };
        assert_int_equal(store_list(store, kind, &list), 0);
        vec_each(const struct object *, object, &list) {
            object_encode(*object, &text);
            text_add_char(&text, '\n');
        }
    }
    return text_take(&text);
}

/* What loading a copy came to. */
struct loaded {
    int r;
    struct store *store;
    struct copy_head head;
    struct faults faults;
};

static inline struct loaded load_as(const struct copies *copies, const struct copy_owner *owner)
{
    struct loaded loaded = { .store = store_new() };
    loaded.r = copy_load(copies->path, owner, "api", loaded.store, &loaded.head, &loaded.faults);
    return loaded;
}

static inline struct loaded load(const struct copies *copies)
{
    return load_as(copies, &copy_of_n1);
}

static inline void loaded_done(struct loaded *loaded)
{
    store_free(loaded->store);
    faults_done(&loaded->faults);
}

#define AUTOLOADED CLEANUP(loaded_done)

/* Nothing was put, and why is said once, with this in it. */
static inline void assert_refused(const struct loaded *loaded, int r, const char *why)
{
    assert_int_equal(loaded->r, r);
    for (enum kind kind = 0; kind < KIND_COUNT; kind++)
        assert_int_equal(store_count(loaded->store, kind), 0);
    assert_int_equal(loaded->faults.list.count, 1);
    if (!strstr(loaded->faults.list.items[0].message, why))
        fail_msg("\"%s\" is not about \"%s\"", loaded->faults.list.items[0].message, why);
}
