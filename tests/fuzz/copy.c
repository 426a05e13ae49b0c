// SPDX-License-Identifier: Apache-2.0
/*
 * The loader of the store's copy, on any bytes and on the same with a right last line behind them,
 * which a search would never find: a copy is loaded whole and comes back from another copy of it,
 * or it is refused with one reason and nothing is in the store.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/file.h"
#include "base/text.h"
#include "format/json_splitter.h"
#include "fuzz.h"
#include "model/fields/encode.h"
#include "store/copy.h"
#include "store/copy_chain.h"

static const struct copy_owner owner = { .node = "n1", .server = "https://api" };
static char path[64];

static void describe(const struct store *store, struct text *out)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        object_list list = { 0 };
        MUST(store_list(store, kind, &list) == 0);
        vec_each(const struct object *, object, &list) {
            object_encode(*object, out);
            text_add_char(out, '\n');
        }
        vec_done(&list);
    }
}

static int load(struct store *store, struct copy_head *ret_head)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = copy_load(path, &owner, "api", store, ret_head, &faults);
    MUST(r == 1 || r == -EBADMSG);
    MUST(r == 1 || faults.list.count == 1);
    return r;
}

static void write_again(const struct store *store, const struct copy_head *head)
{
    CLEANUP(copy_writer_freep) struct copy_writer *writer = NULL;
    MUST(copy_begin(path, &owner, head, store, &writer) == 0);
    while (copy_write(writer, 0) == 0)
        continue;
    MUST(copy_commit(writer) == 0);
}

static void check(const char *bytes, size_t size)
{
    CLEANUP(store_freep) struct store *store = store_new(), *again = store_new();
    AUTOTEXT struct text there = { 0 }, back = { 0 };
    struct copy_head head;
    MUST(file_write_atomic(path, bytes, size) == 0);
    if (load(store, &head) < 0) {
        describe(store, &there);
        MUST(there.length == 0);
        return;
    }
    write_again(store, &head);
    MUST(load(again, &head) == 1);
    describe(store, &there);
    describe(again, &back);
    MUST(strcmp(text_str(&there), text_str(&back)) == 0);
}

/* Adds the last line that the values before it demand. */
static void add_tail(struct text *bytes)
{
    CLEANUP(json_splitter_freep)
    struct json_splitter *splitter = json_splitter_new("", &reader_limits_default, false);
    struct copy_chain chain = { 0 };
    struct json_part part;
    AUTOFAULTS struct faults faults = { 0 };
    json_splitter_push(splitter, bytes->data, bytes->length);
    json_splitter_end(splitter);
    while (json_splitter_next(splitter, &part, &faults) == 1)
        copy_chain_add(&chain, part.text, part.length);
    text_addf(bytes, "\n{\"objects\":%" PRIu64 ",\"checksum\":\"%016" PRIx64 "\"}",
              chain.lines - (chain.lines > 0), chain.hash);
}

static void remove_file(void)
{
    (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTOTEXT struct text with_tail = { 0 };
    if (!path[0]) {
        (void)snprintf(path, sizeof(path), "/dev/shm/fingerpost-fuzz-copy-%d", (int)getpid());
        (void)atexit(remove_file);
    }
    text_add_bytes(&with_tail, (const char *)bytes, size);
    check(with_tail.data, size);
    add_tail(&with_tail);
    check(with_tail.data, with_tail.length);
    return 0;
}
