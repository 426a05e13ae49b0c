// SPDX-License-Identifier: Apache-2.0
/*
 * Writes the copy, in steps between which the store may change.
 *
 * The keys of a kind's objects are listed before the first of them is written. Each object is
 * looked up again when it is written, and left out if it has been removed. So the copy is not a
 * snapshot of one moment; nor is the store itself, since each kind has a watch of its own.
 *
 * Write-back to disk is started at once, without waiting (sync_file_range), so that the fdatasync
 * at the end, which blocks the event loop, takes little time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/text.h"
#include "format/json.h"
#include "model/fields/encode.h"
#include "store/copy.h"
#include "store/copy_chain.h"

enum { FLUSH_BYTES = 64 * 1024 };

struct copy_writer {
    const struct store *store;
    char *path, *temporary;
    int fd;
    enum kind kind;      /* that is being written; KIND_COUNT: the last line */
    struct text keys;    /* of that kind: namespace, NUL, name, NUL */
    size_t next;         /* offset in keys */
    struct text pending; /* lines to be written */
    struct copy_chain chain;
    uint64_t objects, bytes;
    bool complete, committed;
};

static void end_line(struct copy_writer *writer, size_t begin)
{
    struct text *pending = &writer->pending;
    copy_chain_add(&writer->chain, text_str(pending) + begin, pending->length - begin);
    text_add_char(pending, '\n');
}

static void add_time(struct json *json, const char *key, int64_t wall_ms)
{
    if (wall_ms)
        json_time(json, key, wall_ms);
}

static void add_head(struct copy_writer *writer, const struct copy_owner *owner,
                     const struct copy_head *head)
{
    struct json json = { .out = &writer->pending };
    json_begin_object(&json, NULL);
    json_int(&json, "fingerpostCopy", COPY_FORMAT);
    json_string(&json, "node", owner->node);
    json_string(&json, "server", owner->server);
    add_time(&json, "writtenAt", head->written_wall_ms);
    json_begin_object(&json, "kinds");
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        if (!kind_is_manifest(kind))
            continue;
        json_begin_object(&json, kind_name(kind));
        json_string(&json, "resourceVersion", head->kinds[kind].resource_version);
        add_time(&json, "syncedAt", head->kinds[kind].synced_wall_ms);
        json_end_object(&json);
    }
    json_end_object(&json);
    json_end_object(&json);
    end_line(writer, 0);
}

static void add_tail(struct copy_writer *writer)
{
    struct json json = { .out = &writer->pending };
    json_begin_object(&json, NULL);
    json_int(&json, "objects", (int64_t)writer->objects);
    json_stringf(&json, "checksum", "%016" PRIx64, writer->chain.hash);
    json_end_object(&json);
    text_add_char(&writer->pending, '\n');
}

static int note_keys(struct copy_writer *writer)
{
    AUTOVEC object_list list = { 0 };
    text_truncate(&writer->keys, 0);
    writer->next = 0;
    int r = store_list(writer->store, writer->kind, &list);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &list) {
        text_add_bytes(&writer->keys, (*object)->namespace, strlen((*object)->namespace) + 1);
        text_add_bytes(&writer->keys, (*object)->name, strlen((*object)->name) + 1);
    }
    return text_error(&writer->keys);
}

static int write_pending(struct copy_writer *writer)
{
    struct text *pending = &writer->pending;
    int r = text_error(pending);
    if (r < 0)
        return r;
    r = file_write(writer->fd, text_str(pending), pending->length);
    if (r < 0)
        return r;
    /* A hint: if it fails, only the fdatasync at the end takes longer. */
    (void)sync_file_range(writer->fd, (off_t)writer->bytes, (off_t)pending->length,
                          SYNC_FILE_RANGE_WRITE);
    writer->bytes += pending->length;
    text_truncate(pending, 0);
    return 0;
}

static void add_object(struct copy_writer *writer)
{
    const char *namespace = writer->keys.data + writer->next;
    const char *name = namespace + strlen(namespace) + 1;
    writer->next += (size_t)(name - namespace) + strlen(name) + 1;
    const struct object *object = store_get(writer->store, writer->kind, namespace, name);
    if (!object)
        return;
    size_t begin = writer->pending.length;
    object_encode(object, &writer->pending);
    end_line(writer, begin);
    writer->objects++;
}

/* Writes one object, or advances to the next kind. */
static int step(struct copy_writer *writer)
{
    if (writer->next < writer->keys.length) {
        add_object(writer);
        return writer->pending.length < FLUSH_BYTES ? 0 : write_pending(writer);
    }
    writer->kind++;
    if (writer->kind < KIND_COUNT)
        return note_keys(writer);
    add_tail(writer);
    writer->complete = true;
    return write_pending(writer);
}

int copy_begin(const char *path, const struct copy_owner *owner, const struct copy_head *head,
               const struct store *store, struct copy_writer **ret_writer)
{
    CLEANUP(copy_writer_freep) struct copy_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return -ENOMEM;
    writer->fd = -1;
    writer->store = store;
    writer->path = strdup(path);
    writer->temporary = text_format("%s.new", path);
    if (!writer->path || !writer->temporary)
        return -ENOMEM;
    writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (writer->fd < 0)
        return -errno;
    add_head(writer, owner, head);
    int r = note_keys(writer);
    if (r < 0)
        return r;
    *ret_writer = TAKE_PTR(writer);
    return 0;
}

int copy_write(struct copy_writer *writer, int64_t until_us)
{
    while (!writer->complete) {
        int r = step(writer);
        if (r < 0)
            return r;
        if (clock_mono_us() >= until_us)
            break;
    }
    return writer->complete;
}

int copy_commit(struct copy_writer *writer)
{
    if (fdatasync(writer->fd) < 0)
        return -errno;
    int r = file_replace(writer->temporary, writer->path);
    writer->committed = r == 0;
    return r;
}

uint64_t copy_objects(const struct copy_writer *writer)
{
    return writer->objects;
}

uint64_t copy_bytes(const struct copy_writer *writer)
{
    return writer->bytes;
}

void copy_writer_free(struct copy_writer *writer)
{
    if (!writer)
        return;
    if (writer->fd >= 0 && !writer->committed)
        (void)unlink(writer->temporary);
    closep(&writer->fd);
    text_done(&writer->keys);
    text_done(&writer->pending);
    free(writer->path);
    free(writer->temporary);
    free(writer);
}
