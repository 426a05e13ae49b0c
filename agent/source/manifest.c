// SPDX-License-Identifier: Apache-2.0
/*
 * The manifest source: connects the watch on the folder with the loader of its files. Started by
 * agentd; agentctl reads a folder once, by manifest_load().
 *
 * This file interprets events: whether a name is a manifest, whether it has changed since it was
 * read last, and whether the folder as a whole has to be listed again. The loader reads the files
 * and updates the store.
 */
#include "source/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "faults/manifests.h"
#include "faults/raise.h"
#include "source/loader.h"

struct manifest_source {
    struct loader loader;
    bool lost; /* the folder can't be read, and that was reported */
};

/* True if a file differs, or may differ, from the one that was read last. */
static bool differs(const struct loader *loader, const struct file *file)
{
    AUTOFREE char *path = text_format("%s/%s", loader->directory, file->name);
    if (!path || file->id.fresh)
        return true;
    struct file_id id = file_id_at(path);
    return !file_id_equal(&id, &file->id);
}

/* There is no memory to note a change: lists the folder again when there may be some. */
static void lose_track(struct loader *loader)
{
    loader->complete = false;
    folder_rescan_later(loader->folder);
}

static void update_ignored(struct loader *loader, const char *name)
{
    struct file *file = file_table_find(&loader->table, name);
    bool there = loader_file_exists(loader, name);
    if (there && !file)
        (void)file_table_add(&loader->table, name, &file); /* only a count would be wrong */
    else if (!there && file)
        file_table_remove(&loader->table, file);
    loader->status_changed = true;
    loader_schedule(loader);
}

static void on_touched(void *context, const char *name, bool attributes)
{
    struct loader *loader = &((struct manifest_source *)context)->loader;
    struct file *file = file_table_find(&loader->table, name);

    if (!folder_is_manifest(name)) {
        if (!attributes)
            update_ignored(loader, name);
        return;
    }
    if (file ? attributes && !differs(loader, file)
             : attributes || !loader_file_exists(loader, name))
        return; /* unchanged; or new and still being written; or removed before it was counted */
    loader->options.status->last_event_wall_ms = clock_wall_ms();
    if (file || file_table_add(&loader->table, name, &file) == 0)
        loader_change(loader, file);
    else
        lose_track(loader);
}

static int string_cmp(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_gone(struct loader *loader, const name_list *names)
{
    for (size_t i = loader->table.files.count; i > 0; i--) {
        struct file *file = file_table_at(&loader->table, i - 1);
        if (vec_find(names, &file->name, string_cmp))
            continue;
        if (file->ignored)
            file_table_remove(&loader->table, file);
        else
            loader_change(loader, file);
    }
}

static void find_changed(struct loader *loader, const char *name)
{
    struct file *file = file_table_find(&loader->table, name);
    bool known = file != NULL;
    if (!known && file_table_add(&loader->table, name, &file) < 0)
        lose_track(loader);
    else if (!file->ignored && (!known || file->state == FILE_WAITING || differs(loader, file)))
        loader_change(loader, file);
}

static void on_listed(void *context, const name_list *names)
{
    struct manifest_source *source = context;
    struct loader *loader = &source->loader;
    loader->complete = true;
    if (source->lost)
        loader_tell(loader, "", NULL);
    source->lost = false;
    find_gone(loader, names);
    for (size_t i = 0; i < names->count; i++)
        find_changed(loader, names->items[i]);
    if (!loader->options.status->synced)
        loader->initial = loader->table.observed;
    loader_schedule(loader);
}

static void on_lost(void *context, int error)
{
    struct manifest_source *source = context;
    struct loader *loader = &source->loader;
    AUTOFAULTS struct faults faults = { 0 };
    if (error == -ENOENT)
        fault_raise(&faults, loader->directory, manifest_folder_missing);
    else if (error == -ENOSPC || error == -EMFILE)
        fault_raise(&faults, loader->directory, manifest_folder_unwatched);
    else
        fault_raise(&faults, loader->directory, manifest_folder_unreadable,
                    .reason = strerror(-error));
    loader_tell(loader, "", &faults);
    source->lost = true;
    loader_schedule(loader);
}

int manifest_source_start(sd_event *event, const struct manifest_options *options,
                          struct manifest_source **ret_source)
{
    CLEANUP(manifest_source_freep) struct manifest_source *source = calloc(1, sizeof(*source));
    if (!source)
        return -ENOMEM;
    struct loader *loader = &source->loader;
    int r = loader_init(loader, event, options);
    if (r < 0)
        return r;
    struct folder_handler handler = { on_touched, on_listed, on_lost, source };
    r = folder_new(event, loader->directory, &handler, &loader->folder);
    if (r < 0)
        return r;
    folder_rescan(loader->folder);
    *ret_source = TAKE_PTR(source);
    return 0;
}

uint64_t manifest_source_loaded_generation(const struct manifest_source *source)
{
    return source->loader.loaded;
}

void manifest_source_rescan(struct manifest_source *source)
{
    folder_rescan(source->loader.folder);
}

void manifest_source_free(struct manifest_source *source)
{
    if (!source)
        return;
    folder_free(source->loader.folder);
    loader_done(&source->loader);
    free(source);
}
