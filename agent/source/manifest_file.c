// SPDX-License-Identifier: Apache-2.0
/*
 * Reads one manifest file into objects; called by manifest.c, which puts them into the store.
 *
 * A file is used only if all of it is good: after the first error no object is kept, and reading
 * continues only to find further errors, up to a number that a person would read. With warnings (a
 * bad address that was skipped) a file is still good.
 *
 * The path is checked three times. Before open(), because opening a device can have effects and a
 * fifo could block; after it, because the opened file counts; and at the end, because a file that
 * was written or replaced while it was read in slices may be a mixture. File times have the
 * resolution of the kernel's tick, so they do not prove that a file which was just changed is the
 * same.
 */
#include "source/manifest_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "base/remedy.h"
#include "base/text.h"
#include "faults/manifests.h"
#include "faults/raise.h"
#include "model/services/endpoints.h"

enum {
    MOST_FAULTS = 20, /* errors reported of one file; warnings likewise */
    FRESH_MS = 100,   /* well above the tick by which file times advance */
};

static int64_t time_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static struct file_id id_of(const struct stat *st)
{
    int64_t changed_ns = time_ns(&st->st_ctim);
    return (struct file_id){
        .device = st->st_dev,
        .inode = st->st_ino,
        .size = st->st_size,
        .modified_ns = time_ns(&st->st_mtim),
        .changed_ns = changed_ns,
        .fresh = changed_ns / 1000000 + FRESH_MS > clock_wall_ms(),
    };
}

/* Moves up to `room` faults; returns how many were dropped. */
static size_t faults_move(struct faults *to, struct faults *from, size_t room)
{
    size_t moved = 0;
    vec_each(struct fault, fault, &from->list) {
        if (moved == room || vec_push(&to->list, *fault) < 0)
            break;
        *fault = (struct fault){ 0 };
        moved++;
    }
    size_t dropped = from->list.count - moved;
    to->incomplete |= from->incomplete || (dropped > 0 && moved < room);
    faults_done(from);
    return dropped;
}

static void objects_done(manifest_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        object_free(objects->items[i]);
    vec_done(objects);
}

/* The file is broken; its objects will never be used. */
static void refuse(struct manifest_file *file, struct faults *errors)
{
    file->broken = true;
    objects_done(&file->objects);
    size_t dropped = faults_move(&file->errors, errors, MOST_FAULTS - file->errors.list.count);
    if (dropped > 0 || (file->reader && file->errors.list.count == MOST_FAULTS))
        fault_raise(&file->errors, file->name, manifest_errors_untold, .limit = MOST_FAULTS);
}

static void refuse_error(struct manifest_file *file, int error)
{
    AUTOFAULTS struct faults errors = { 0 };
    if (error == ELOOP)
        fault_raise(&errors, file->name, manifest_link_circular);
    else if (error == ENOENT)
        fault_raise(&errors, file->name, manifest_link_dangling);
    else if (error == EACCES || error == EPERM)
        fault_raise(&errors, file->name, manifest_denied);
    else
        fault_raise(&errors, file->name, manifest_unopened, .reason = strerror(error),
                    .remedy = remedy_for_file(error));
    refuse(file, &errors);
}

static const char *type_name(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a named pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* True if the file at the path may be opened; otherwise the file is refused. */
static bool acceptable(struct manifest_file *file, const struct stat *st, uint64_t max_bytes)
{
    AUTOFAULTS struct faults errors = { 0 };
    file->id = id_of(st);
    if (!S_ISREG(st->st_mode))
        fault_raise(&errors, file->name, manifest_not_file, .type = type_name(st->st_mode));
    else if ((uint64_t)st->st_size <= max_bytes)
        return true;
    else
        fault_raise(&errors, file->name, manifest_too_long, .size = st->st_size,
                    .limit = (int64_t)max_bytes);
    refuse(file, &errors);
    return false;
}

static int open_checked(struct manifest_file *file, uint64_t max_bytes)
{
    struct stat st;
    if (stat(file->path, &st) < 0) {
        int error = errno;
        if (error == ENOENT && lstat(file->path, &st) < 0)
            return -ENOENT;
        refuse_error(file, error);
        return 0;
    }
    if (!acceptable(file, &st, max_bytes))
        return 0;

    AUTOCLOSE int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return -errno;
    if (fd < 0 || fstat(fd, &st) < 0) {
        refuse_error(file, errno);
        return 0;
    }
    if (!acceptable(file, &st, max_bytes))
        return 0;

    struct reader_limits limits = reader_limits_default;
    limits.file_bytes = max_bytes;
    size_t length = strlen(file->name);
    bool json = length > 5 && strcmp(file->name + length - 5, ".json") == 0;
    return reader_open(TAKE_FD(fd), file->name, json ? READER_JSON : READER_YAML, &limits,
                       &file->reader);
}

/* Keeps an object while the file is good. */
static int keep(void *context, struct object *object)
{
    struct manifest_file *file = context;
    CLEANUP(object_freep) struct object *kept = object;
    if (file->broken)
        return 0;
    int r = vec_push(&file->objects, object);
    if (r < 0)
        return r;
    (void)TAKE_PTR(kept);
    return 0;
}

/* Returns 1 if the document has an object, 0 if it is none of ours, -EBADMSG, -ENOMEM. */
static int decode(struct manifest_file *file, const struct document *document,
                  struct faults *errors, struct faults *warnings)
{
    struct object *object = NULL;
    int r = object_decode(document, &object, NULL, errors, warnings);
    if (r == 0)
        return endpoints_decode(document, keep, file, errors, warnings);
    if (r < 0)
        return r;
    r = keep(file, object);
    return r < 0 ? r : 1;
}

/* Reads one document. Returns 1, 0 if there is nothing more to read, -ENOMEM. */
static int read_document(struct manifest_file *file)
{
    AUTOFAULTS struct faults errors = { 0 }, warnings = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    int r = reader_next(file->reader, &document, &errors);
    if (r == 0 || r == -ENOMEM)
        return r;
    if (r < 0) {
        refuse(file, &errors);
        /* Without an id the next rescan reads it again: an I/O error may be temporary. */
        if (r != -EBADMSG)
            file->id = (struct file_id){ 0 };
        return 0;
    }

    r = decode(file, document, &errors, &warnings);
    if (r == -ENOMEM)
        return r;
    file->more_warnings +=
        faults_move(&file->warnings, &warnings, MOST_FAULTS - file->warnings.list.count);
    if (r < 0)
        refuse(file, &errors);
    else if (r == 0)
        file->ignored_objects++;
    return file->errors.list.count < MOST_FAULTS;
}

static int key_and_line_cmp(const void *a, const void *b)
{
    const struct object *left = *(struct object *const *)a, *right = *(struct object *const *)b;
    int order = object_key_cmp(left, right);
    return order ? order : CMP(left->line, right->line);
}

static void refuse_duplicates(struct manifest_file *file)
{
    AUTOFAULTS struct faults errors = { 0 };
    vec_sort(&file->objects, key_and_line_cmp);
    for (size_t i = 1; i < file->objects.count; i++) {
        const struct object *first = file->objects.items[i - 1], *second = file->objects.items[i];
        if (object_key_cmp(first, second) != 0)
            continue;
        AUTOFREE char *place = text_format("%s:%" PRIu32, file->name, second->line);
        AUTOFREE char *at = text_format("%s:%" PRIu32, file->name, first->line);
        AUTOFREE char *object = text_format("%s %s%s%s", kind_name(second->kind), second->namespace,
                                            second->namespace[0] ? "/" : "", second->name);
        errors.incomplete |= !at || !object;
        fault_raise(&errors, place, manifest_object_repeated, .object = object, .first = at);
    }
    if (!faults_none(&errors))
        refuse(file, &errors);
}

struct file_id file_id_at(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 ? (struct file_id){ 0 } : id_of(&st);
}

bool file_id_equal(const struct file_id *a, const struct file_id *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

int manifest_file_open(const char *directory, const char *name, uint64_t max_bytes,
                       struct manifest_file **ret_file)
{
    CLEANUP(manifest_file_freep) struct manifest_file *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    file->path = text_format("%s/%s", directory, name);
    if (!file->path)
        return -ENOMEM;
    file->name = strrchr(file->path, '/') + 1;

    int r = open_checked(file, max_bytes);
    if (r < 0)
        return r;
    *ret_file = TAKE_PTR(file);
    return 0;
}

int manifest_file_read(struct manifest_file *file, int64_t until_us)
{
    while (file->reader) {
        int r = read_document(file);
        if (r < 0)
            return r;
        if (r > 0 && clock_mono_us() >= until_us)
            return 0;
        if (r > 0)
            continue;
        reader_free(TAKE_PTR(file->reader));
        struct file_id now = file_id_at(file->path);
        if (file->id.inode != 0 && !file_id_equal(&file->id, &now))
            return -ESTALE;
    }
    if (!file->broken)
        refuse_duplicates(file);
    return 1;
}

void manifest_file_faults(struct manifest_file *file, struct faults *faults)
{
    if (file->more_warnings > 0)
        fault_raise(&file->warnings, file->name, manifest_warnings_untold,
                    .count = (int64_t)file->more_warnings);
    file->more_warnings = 0;
    (void)faults_move(faults, &file->errors, SIZE_MAX);
    (void)faults_move(faults, &file->warnings, SIZE_MAX);
}

void manifest_file_free(struct manifest_file *file)
{
    if (!file)
        return;
    objects_done(&file->objects);
    reader_free(file->reader);
    faults_done(&file->errors);
    faults_done(&file->warnings);
    free(file->path);
    free(file);
}
