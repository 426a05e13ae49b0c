// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the files that may have changed and puts their objects into the store.
 *
 * They are read one after the other, in slices of a few milliseconds. A slice runs after everything
 * else in the loop, a pass included: a long file delays neither a repair nor an answer. If a file
 * does not exist when it is to be read, its objects are removed after a moment; a file that was
 * changed while it was read, or for which memory was short, is queued again. A whole file is put
 * into the store in one step: no pass sees half of it.
 *
 * Nothing is removed because the folder is missing: only a file that is missing from an existing
 * folder counts as deleted. While the folder is missing nothing is pending, as nothing can be done.
 *
 * The daemon is called only from the loop, at the end of a slice or of a check of waiting files.
 */
#include "source/loader.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/remedy.h"
#include "base/text.h"
#include "faults/manifests.h"
#include "faults/raise.h"
#include "loop/timer.h"
#include "source/conflicts.h"

enum {
    SLICE_US = 5000,
    GONE_MS = 200,   /* how long a file may be missing, as when an editor replaces it */
    RETRY_MS = 1000, /* after a lack of memory or descriptors */
    /* After passes and everything else in the loop. */
    SLICE_PRIORITY = SD_EVENT_PRIORITY_IDLE + 10,
    /* After a file of this size, so much heap is free that it is returned to the system. */
    TRIM_BYTES = 8 << 20,
};

bool loader_file_exists(const struct loader *loader, const char *name)
{
    struct stat st;
    AUTOFREE char *path = text_format("%s/%s", loader->directory, name);
    return !path || lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

void loader_tell(struct loader *loader, const char *group, const struct faults *faults)
{
    if (fault_book_replace(loader->options.faults, "manifests", group, faults, clock_wall_ms()) < 0)
        log_error("manifests: no memory to keep the faults of \"%s\"", group);
    loader->status_changed = true;
}

static void note_broken(struct loader *loader, struct file *file, bool broken)
{
    struct source_status *status = loader->options.status;
    status->unknown_files -= file->broken && !file->known;
    file->known |= !broken;
    status->unknown_files += broken && !file->known;
    status->broken_files += broken - file->broken;
    file->broken = broken;
}

static void note_ignored_objects(struct loader *loader, struct file *file, uint64_t count)
{
    loader->options.status->ignored_objects += count - file->ignored_objects;
    file->ignored_objects = count;
}

static void report_generations(struct loader *loader)
{
    struct source_status *status = loader->options.status;
    status->observed_generation = loader->table.observed;
    if (!loader->complete)
        return;
    uint64_t loaded = file_table_loaded(&loader->table);
    if (loaded > loader->loaded) {
        loader->loaded = loaded;
        loader->status_changed = true;
    }
    if (loaded >= loader->initial && !status->synced) {
        status->synced = true;
        loader->status_changed = true;
    }
}

static void report(struct loader *loader)
{
    if (loader->store_touched) {
        AUTOFAULTS struct faults faults = { 0 };
        manifest_conflicts(loader->options.store, &faults);
        loader_tell(loader, "duplicates", &faults);
    }
    struct source_status *status = loader->options.status;
    status->files = (uint32_t)loader->table.files.count - loader->table.ignored;
    status->ignored_files = loader->table.ignored;
    report_generations(loader);

    bool changed = loader->status_changed;
    loader->store_touched = loader->status_changed = false;
    if (changed)
        loader->options.changed(loader->options.context);
}

static void arm(struct loader *loader, int64_t due_ms)
{
    if (loader->armed_ms != 0 && loader->armed_ms <= due_ms)
        return;
    loader->armed_ms = due_ms;
    timer_arm(loader->timer, MAX(due_ms - clock_mono_ms(), INT64_C(0)));
}

static void wait_for(struct loader *loader, struct file *file, int64_t delay_ms)
{
    file_table_wait(&loader->table, file, clock_mono_ms() + delay_ms);
    arm(loader, file->due_ms);
}

/* Retries after a temporary error. */
static void try_later(struct loader *loader, struct file *file, int error)
{
    AUTOFAULTS struct faults faults = { 0 };
    fault_raise(&faults, file->name, manifest_retried, .reason = strerror(-error),
                .remedy = remedy_for_file(error));
    loader_tell(loader, file->name, &faults);
    note_broken(loader, file, true);
    wait_for(loader, file, RETRY_MS);
}

/* Puts the objects of a file into the store. Returns 0 or -ENOMEM. */
static int take_over(struct loader *loader, struct file *file, struct manifest_file *read)
{
    if (!read->broken) {
        int r = file_keys_replace(&file->keys, loader->options.store, file->name, &read->objects);
        loader->store_touched = true;
        if (r < 0)
            return r;
        note_ignored_objects(loader, file, read->ignored_objects);
    }
    AUTOFAULTS struct faults faults = { 0 };
    manifest_file_faults(read, &faults);
    loader_tell(loader, file->name, &faults);
    note_broken(loader, file, read->broken);
    file->id = read->id;
    file_table_settle(&loader->table, file);
    return 0;
}

/* Begins to read a file, or continues. Returns as manifest_file_read(). */
static int read_on(struct loader *loader, const struct file *file, int64_t until_us)
{
    if (!loader->reading) {
        int r = manifest_file_open(loader->directory, file->name, loader->options.max_file_bytes,
                                   &loader->reading);
        if (r < 0)
            return r;
    }
    return manifest_file_read(loader->reading, until_us);
}

static void read_first(struct loader *loader, struct file *file, int64_t until_us)
{
    int r = read_on(loader, file, until_us);
    if (r == 0)
        return; /* the slice is over before the file is complete */

    struct manifest_file *read = TAKE_PTR(loader->reading);
    if (r == 1)
        r = take_over(loader, file, read);
    if (r == -ENOENT || r == -ESTALE)
        wait_for(loader, file, GONE_MS);
    else if (r < 0)
        try_later(loader, file, r);
    bool large = read && read->id.size >= TRIM_BYTES;
    manifest_file_free(read);
    if (large)
        (void)malloc_trim(0);
}

static void read_slice(void *context)
{
    struct loader *loader = context;
    int64_t until_us = clock_mono_us() + SLICE_US;
    do {
        struct file *file = TAILQ_FIRST(&loader->table.queue);
        if (!file)
            break;
        read_first(loader, file, until_us);
    } while (clock_mono_us() < until_us);
    if (!TAILQ_EMPTY(&loader->table.queue))
        deferred_schedule(loader->slice);
    report(loader);
}

static int forget(struct loader *loader, struct file *file)
{
    manifest_objects none = { 0 };
    int r = file_keys_replace(&file->keys, loader->options.store, file->name, &none);
    loader->store_touched = true;
    if (r < 0)
        return r;
    loader_tell(loader, file->name, NULL);
    note_broken(loader, file, false);
    note_ignored_objects(loader, file, 0);
    file_table_remove(&loader->table, file);
    return 0;
}

static void look_at(struct loader *loader, struct file *file, bool folder_there)
{
    if (!folder_there) {
        file_table_settle(&loader->table, file);
    } else if (loader_file_exists(loader, file->name)) {
        file_table_queue(&loader->table, file);
        deferred_schedule(loader->slice);
    } else if (forget(loader, file) < 0) {
        wait_for(loader, file, RETRY_MS);
    }
}

static void look_at_waiting(void *context)
{
    struct loader *loader = context;
    loader->armed_ms = 0;
    /* Moving the folder's parent causes no event. */
    bool there = folder_exists(loader->folder);
    if (!there)
        folder_rescan(loader->folder);

    int64_t now_ms = clock_mono_ms();
    struct file *next;
    for (struct file *file = TAILQ_FIRST(&loader->table.waiting); file; file = next) {
        next = TAILQ_NEXT(file, link);
        if (file->due_ms > now_ms)
            arm(loader, file->due_ms);
        else
            look_at(loader, file, there);
    }
    report(loader);
}

void loader_change(struct loader *loader, struct file *file)
{
    /* What was read of the file so far is outdated. */
    if (loader->reading && file == TAILQ_FIRST(&loader->table.queue))
        manifest_file_free(TAKE_PTR(loader->reading));
    file_table_change(&loader->table, file);
    loader->options.status->observed_generation = loader->table.observed;
    loader_schedule(loader);
}

void loader_schedule(struct loader *loader)
{
    deferred_schedule(loader->slice);
}

int loader_init(struct loader *loader, sd_event *event, const struct manifest_options *options)
{
    *loader = (struct loader){ .options = *options };
    file_table_init(&loader->table);
    loader->directory = strdup(options->directory);
    if (!loader->directory)
        return -ENOMEM;
    loader->options.directory = loader->directory; /* a reload frees the caller's string */
    int r = deferred_new(event, SLICE_PRIORITY, read_slice, loader, &loader->slice);
    if (r < 0)
        return r;
    r = timer_new(event, SD_EVENT_PRIORITY_NORMAL, look_at_waiting, loader, &loader->timer);
    if (r < 0)
        return r;

    /* The start is the first observed generation: an unread folder must not count as applied. */
    loader->table.observed = 1;
    *options->status = (struct source_status){
        .name = "manifests",
        .path = loader->directory,
        .observed_generation = loader->table.observed,
    };
    return 0;
}

void loader_done(struct loader *loader)
{
    deferred_free(loader->slice);
    timer_free(loader->timer);
    manifest_file_free(loader->reading);
    file_table_done(&loader->table);
    if (loader->options.status->path == loader->directory)
        loader->options.status->path = NULL;
    free(loader->directory);
}
