// SPDX-License-Identifier: Apache-2.0
/*
 * A folder as a target of exports, for consumers without Consul; see export_target.h. Made by
 * controller/export/export_job.c, where consul.folder is set.
 *
 * Each document is a file FOLDER/KEY.json, each marker FOLDER/KEY.owner. A file is written under a
 * temporary name and renamed, so that a reader finds either the old document or the new one. Files
 * are written in slices, since each is synced to disk, and the loop has other work.
 *
 * Only this cluster and this controller may use the folder: there is no lock, and foreign changes
 * are found at the next read, a minute later at the latest.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/macro.h"
#include "controller/export/export_entries.h"
#include "controller/export/export_target.h"
#include "loop/timer.h"

#define DOCUMENT ".json"
#define MARKER   ".owner"

enum {
    PRIORITY = 50,
    SLICE_MS = 50,
    READ_MS = 60 * 1000,
    AGAIN_MS = 5000, /* after a failure */
    DEPTH_MAX = 32,
};

struct files_export {
    struct export_target base;
    const struct board *board;
    const struct export_config *config;
    struct timer *timer;
    bool leading, known;
    bool seen; /* `there` was current while this controller has led */
    struct export_store there;
    struct arena *arena; /* of the ops */
    VEC(struct export_op) ops;
    size_t next;
    struct export_target_status status;
};

static void failed(struct files_export *target, const char *what, const char *path, int error)
{
    (void)snprintf(target->status.error, sizeof(target->status.error), "cannot %s %.150s: %s", what,
                   path, strerror(error));
    target->status.remedy = "let the controller's user write to consul.folder";
    target->status.failures++;
    target->known = false;
}

/* ---- Reading ---- */

static int read_folder(struct files_export *target, const char *key, unsigned depth);

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length > end && strcmp(name + length - end, suffix) == 0;
}

static int read_one(struct files_export *target, const char *path, const char *key,
                    const char *suffix, int64_t written_wall_ms)
{
    AUTOFREE char *content = NULL;
    AUTOFREE char *name = strndup(key, strlen(key) - strlen(suffix));
    size_t size;
    int r = name ? file_read(path, EXPORT_VALUE_MAX, &content, &size) : -ENOMEM;
    if (r == -EFBIG || r == -ENOENT) /* it is none of ours; it was removed meanwhile */
        return 0;
    if (r < 0)
        return r;
    const struct export_entry entry = { name, content, size, 1, written_wall_ms };
    return export_store_add(&target->there, &entry);
}

static int read_entry(struct files_export *target, const char *key, unsigned depth)
{
    AUTOFREE char *path = text_format("%s/%s", target->config->folder, key);
    struct stat status;
    if (!path)
        return -ENOMEM;
    if (lstat(path, &status) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(status.st_mode))
        return depth < DEPTH_MAX ? read_folder(target, key, depth + 1) : 0;
    int64_t written_wall_ms = status.st_mtim.tv_sec * SECOND_MS;
    if (S_ISREG(status.st_mode) && ends_with(key, DOCUMENT))
        return read_one(target, path, key, DOCUMENT, written_wall_ms);
    if (S_ISREG(status.st_mode) && ends_with(key, MARKER))
        return read_one(target, path, key, MARKER, written_wall_ms);
    return 0;
}

static void dir_closep(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

static int read_folder(struct files_export *target, const char *key, unsigned depth)
{
    AUTOFREE char *path = text_format("%s/%s", target->config->folder, key);
    CLEANUP(dir_closep) DIR *dir = path ? opendir(path) : NULL;
    if (!dir)
        return path && errno == ENOENT ? 0 : path ? -errno : -ENOMEM;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (*entry->d_name == '.')
            continue;
        AUTOFREE char *below = text_format("%s/%s", key, entry->d_name);
        int r = below ? read_entry(target, below, depth) : -ENOMEM;
        if (r < 0)
            return r;
    }
    return 0;
}

static void read_all(struct files_export *target)
{
    struct export_target_status *status = &target->status;
    const int64_t began_ms = clock_mono_ms();
    int r = export_store_clear(&target->there);
    r = r < 0 ? r : read_folder(target, target->config->prefix, 0);
    if (r < 0) {
        target->seen = false;
        failed(target, "read", target->config->folder, -r);
        timer_arm(target->timer, AGAIN_MS);
        return;
    }
    export_store_sort(&target->there);
    target->known = target->seen = true;
    *status->error = '\0';
    status->remedy = NULL;
    export_target_read(status, began_ms);
    status->keys = target->there.entries.count;
    timer_arm(target->timer, READ_MS);
}

/* ---- Writing ---- */

static void forget_ops(struct files_export *target)
{
    vec_clear(&target->ops);
    target->next = 0;
    arena_free(target->arena);
    target->arena = NULL;
}

static int write_op(struct files_export *target, const struct export_op *op)
{
    AUTOFREE char *path =
        text_format("%s/%s%s", target->config->folder, op->key, op->marker ? MARKER : DOCUMENT);
    if (!path)
        return -ENOMEM;
    if (op->remove)
        return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int r = dir_make(path);
    *slash = '/';
    return r < 0 ? r : file_write_atomic(path, op->value, strlen(op->value));
}

static void write_slice(struct files_export *target)
{
    int64_t end_ms = clock_mono_ms() + SLICE_MS;
    while (target->next < target->ops.count && clock_mono_ms() < end_ms) {
        const struct export_op *op = &target->ops.items[target->next++];
        int r = write_op(target, op);
        export_target_tell(&target->base, &target->status, op, r == 0);
        if (r < 0) {
            failed(target, "write", op->key, -r);
            forget_ops(target);
            timer_arm(target->timer, AGAIN_MS);
            return;
        }
        target->status.written += !op->remove && !op->marker;
        target->status.removed += op->remove && !op->marker;
        target->status.created += !op->remove && !op->marker && op->index == 0;
        target->status.changed_wall_ms = clock_wall_ms();
    }
    if (target->next == target->ops.count)
        forget_ops(target);
    timer_arm(target->timer, 0);
}

static void on_time(void *context)
{
    struct files_export *target = context;
    if (target->ops.count)
        write_slice(target);
    else
        read_all(target);
    target->board->wake(target->board->context);
}

static int write_ops(struct export_target *base, const struct export_diff *diff)
{
    struct files_export *target = (struct files_export *)base;
    forget_ops(target);
    if (diff->ops.count == 0)
        return 0;
    target->arena = arena_new(EXPORT_VALUE_MAX);
    int r = target->arena ? 0 : -ENOMEM;
    for (size_t i = 0; i < diff->ops.count && r == 0; i++) {
        struct export_op op = diff->ops.items[i];
        op.key = arena_strdup(target->arena, op.key);
        op.value = op.value ? arena_strdup(target->arena, op.value) : NULL;
        r = op.key && (op.value || op.remove) ? vec_push(&target->ops, op) : -ENOMEM;
    }
    if (r < 0)
        forget_ops(target);
    else
        timer_arm(target->timer, 0);
    return r;
}

/* ---- The table ---- */

static void lead(struct export_target *base, bool leading)
{
    struct files_export *target = (struct files_export *)base;
    target->leading = leading;
    target->known = target->seen = false;
    forget_ops(target);
    if (leading)
        timer_arm(target->timer, 0);
    else
        timer_disarm(target->timer);
}

static const export_entries *have(const struct export_target *base)
{
    const struct files_export *target = (const struct files_export *)base;
    return target->known && target->ops.count == 0 ? &target->there.entries : NULL;
}

static const export_entries *seen(const struct export_target *base)
{
    const struct files_export *target = (const struct files_export *)base;
    return target->seen ? &target->there.entries : NULL;
}

static const struct export_target_status *tell(const struct export_target *base)
{
    struct files_export *target = (struct files_export *)base;
    target->status.known = target->known;
    target->status.locked = target->leading;
    target->status.pending = target->ops.count - target->next;
    return &target->status;
}

static void files_free(struct export_target *base)
{
    struct files_export *target = (struct files_export *)base;
    forget_ops(target);
    vec_done(&target->ops);
    export_store_done(&target->there);
    timer_free(target->timer);
    free(target);
}

static const struct export_target_ops ops = {
    .lead = lead,
    .have = have,
    .seen = seen,
    .write = write_ops,
    .status = tell,
    .free = files_free,
};

static void target_freep(struct files_export **target)
{
    if (*target)
        files_free(&(*target)->base);
}

int export_files_new(const struct board *board, struct export_target **ret_target)
{
    CLEANUP(target_freep) struct files_export *target = calloc(1, sizeof(*target));
    if (!target)
        return -ENOMEM;
    target->base.ops = &ops;
    target->board = board;
    target->config = &board->config->exports;
    int r = export_store_init(&target->there, target->config);
    if (r < 0)
        return r;
    r = timer_new(board->event, PRIORITY, on_time, target, &target->timer);
    if (r < 0)
        return r;
    *ret_target = &TAKE_PTR(target)->base;
    return 0;
}
