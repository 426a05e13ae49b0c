// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the copy. The splitter returns the lines one by one; objects are decoded and collected.
 * They are put into the store only after the last line has confirmed the number of objects and the
 * checksum.
 *
 * Only this program writes a copy, but a disk error or a user may change the file. In each case the
 * store gets all objects of a valid copy, or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "faults/api.h"
#include "faults/raise.h"
#include "format/json_splitter.h"
#include "store/copy.h"
#include "store/copy_chain.h"

enum { CHUNK = 64 * 1024 };

struct copy_reader {
    const char *path;
    const struct copy_owner *owner;
    struct copy_head *head;
    struct copy_chain chain;
    VEC(struct object *) objects;
    uint64_t lines;        /* with objects, decoded or not */
    bool complete;         /* the last line was read, and matched */
    struct faults refused; /* objects that can't be decoded */
    struct faults *faults;
};

static void reader_done(struct copy_reader *reader)
{
    vec_each(struct object *, object, &reader->objects)
        object_free(*object);
    vec_done(&reader->objects);
    faults_done(&reader->refused);
}

static int refuse_damaged(const struct copy_reader *reader, const char *what)
{
    fault_raise(reader->faults, reader->path, copy_damaged, .what = what,
                .line = (int64_t)reader->chain.lines + 1);
    return -EBADMSG;
}

/* A scalar member as text; "" if there is none. */
static const char *text_of(const struct doc *map, const char *key)
{
    const struct doc *node = doc_get(map, key);
    return node && node->type == DOC_SCALAR ? node->text : "";
}

static int64_t time_of(const struct doc *map, const char *key)
{
    int64_t wall_ms = 0;
    return clock_parse_rfc3339(text_of(map, key), &wall_ms) < 0 ? 0 : wall_ms;
}

static void read_kinds(const struct doc *kinds, struct copy_head *head)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        const struct doc *node = doc_get(kinds, kind_name(kind));
        (void)snprintf(head->kinds[kind].resource_version, COPY_RESOURCE_VERSION_MAX, "%s",
                       text_of(node, "resourceVersion"));
        head->kinds[kind].synced_wall_ms = time_of(node, "syncedAt");
    }
}

static int read_head(struct copy_reader *reader, const struct doc *root)
{
    const char *format = text_of(root, "fingerpostCopy"), *node = text_of(root, "node");
    const char *server = text_of(root, "server");
    const struct copy_owner *owner = reader->owner;
    char known[16];
    (void)snprintf(known, sizeof(known), "%d", COPY_FORMAT);
    if (!*format)
        return refuse_damaged(reader, "no head");
    if (strcmp(format, known) != 0) {
        fault_raise(reader->faults, reader->path, copy_format_unknown, .format = format,
                    .known = known);
        return -EBADMSG;
    }
    if (strcmp(node, owner->node) != 0) {
        fault_raise(reader->faults, reader->path, copy_of_other_node, .node = node,
                    .own = owner->node);
        return -EBADMSG;
    }
    if (strcmp(server, owner->server) != 0) {
        fault_raise(reader->faults, reader->path, copy_of_other_server, .server = server,
                    .own = owner->server);
        return -EBADMSG;
    }
    reader->head->written_wall_ms = time_of(root, "writtenAt");
    read_kinds(doc_get(root, "kinds"), reader->head);
    return 0;
}

static int read_tail(struct copy_reader *reader, const struct doc *root)
{
    char objects[24], checksum[COPY_CHECKSUM_STRLEN];
    (void)snprintf(objects, sizeof(objects), "%" PRIu64, reader->lines);
    (void)snprintf(checksum, sizeof(checksum), "%016" PRIx64, reader->chain.hash);
    if (strcmp(text_of(root, "objects"), objects) != 0 ||
        strcmp(text_of(root, "checksum"), checksum) != 0)
        return refuse_damaged(reader, "a wrong checksum");
    reader->complete = true;
    return 0;
}

/* An agent of another version may have written objects that this one can't decode. */
static void leave_out(struct copy_reader *reader, const struct doc *root,
                      const struct faults *errors)
{
    const struct doc *metadata = doc_get(root, "metadata");
    AUTOTEXT struct text place = { 0 };
    text_addf(&place, "%s %s/%s", text_of(root, "kind"), text_of(metadata, "namespace"),
              text_of(metadata, "name"));
    if (errors->list.count)
        fault_raise(&reader->refused, text_str(&place), copy_object_invalid,
                    .reason = errors->list.items[0].message);
    else
        fault_raise(&reader->refused, text_str(&place), copy_object_unknown);
}

static int read_object(struct copy_reader *reader, const struct document *document)
{
    AUTOFAULTS struct faults errors = { 0 }, warnings = { 0 };
    struct object *object = NULL;
    int r = object_decode(document, &object, NULL, &errors, &warnings);
    reader->lines++;
    if (r == -ENOMEM)
        return r;
    if (r <= 0) {
        leave_out(reader, document->root, &errors);
        return 0;
    }
    if (vec_push(&reader->objects, object) == 0)
        return 0;
    object_free(object);
    return -ENOMEM;
}

static int read_line(struct copy_reader *reader, const struct json_part *part)
{
    AUTOFAULTS struct faults errors = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    if (reader->complete)
        return refuse_damaged(reader, "more");
    int r = document_parse(part->text, part->length, "", READER_JSON, &document, &errors);
    if (r == -ENOMEM)
        return r;
    if (r < 1)
        return refuse_damaged(reader, errors.list.count ? errors.list.items[0].message : "nothing");
    if (reader->chain.lines == 0)
        r = read_head(reader, document->root);
    else if (doc_get(document->root, "checksum"))
        r = read_tail(reader, document->root);
    else
        r = read_object(reader, document);
    copy_chain_add(&reader->chain, part->text, part->length);
    return r;
}

static int read_lines(struct copy_reader *reader, struct json_splitter *splitter)
{
    for (;;) {
        AUTOFAULTS struct faults errors = { 0 };
        struct json_part part;
        int r = json_splitter_next(splitter, &part, &errors);
        if (r == 0 || r == -ENOMEM)
            return r;
        if (r < 0)
            return refuse_damaged(reader, errors.list.count ? errors.list.items[0].message : "");
        r = read_line(reader, &part);
        if (r < 0)
            return r;
    }
}

static int read_file(struct copy_reader *reader, int fd, struct json_splitter *splitter)
{
    char buffer[CHUNK];
    for (;;) {
        ssize_t size = read(fd, buffer, sizeof(buffer));
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0) {
            int error = errno;
            fault_raise(reader->faults, reader->path, copy_unreadable, .reason = strerror(error));
            return -error;
        }
        if (size == 0)
            json_splitter_end(splitter);
        json_splitter_push(splitter, buffer, (size_t)size);
        int r = read_lines(reader, splitter);
        if (r < 0 || size == 0)
            return r;
    }
}

/* Puts all collected objects into the store. */
static int put_all(struct copy_reader *reader, const char *origin, struct store *store)
{
    vec_each(struct object *, object, &reader->objects) {
        int r = store_put(store, origin, TAKE_PTR(*object));
        if (r < 0)
            return r;
    }
    vec_each(const struct fault, fault, &reader->refused.list)
        faults_add_copy(reader->faults, fault->place, fault);
    return 1;
}

int copy_load(const char *path, const struct copy_owner *owner, const char *origin,
              struct store *store, struct copy_head *ret_head, struct faults *faults)
{
    struct copy_head head = { 0 };
    CLEANUP(reader_done)
    struct copy_reader reader = { .path = path, .owner = owner, .head = &head, .faults = faults };
    AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        int error = errno;
        if (error != ENOENT)
            fault_raise(faults, path, copy_unopened, .reason = strerror(error));
        return error == ENOENT ? 0 : -error;
    }
    CLEANUP(json_splitter_freep)
    struct json_splitter *splitter = json_splitter_new(path, &reader_limits_default, false);
    if (!splitter)
        return -ENOMEM;
    int r = read_file(&reader, fd, splitter);
    if (r < 0)
        return r;
    if (!reader.complete)
        return refuse_damaged(&reader, "no end");
    r = put_all(&reader, origin, store);
    if (r < 0)
        return r;
    *ret_head = head;
    return r;
}
