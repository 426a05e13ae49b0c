// SPDX-License-Identifier: Apache-2.0
/*
 * The states of a folder's files; the table belongs to manifest.c, which reads the files.
 *
 * Files that need work are linked in one of two lists, so that the cost of an event does not depend
 * on the number of files. The lists are not ordered by generation (a file that waited is queued
 * last with an old number), therefore file_table_loaded() walks them; it is called once per slice,
 * not per event.
 */
#include "source/file_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "source/folder.h"

static int file_cmp(const void *a, const void *b)
{
    return strcmp((*(struct file *const *)a)->name, (*(struct file *const *)b)->name);
}

static void file_free(struct file *file)
{
    file_keys_done(&file->keys);
    free(file->name);
    free(file);
}
DEFINE_CLEANUP(struct file *, file_free);

static void unlink_from_list(struct file_table *table, struct file *file)
{
    if (file->state == FILE_QUEUED)
        TAILQ_REMOVE(&table->queue, file, link);
    else if (file->state == FILE_WAITING)
        TAILQ_REMOVE(&table->waiting, file, link);
}

void file_table_init(struct file_table *table)
{
    *table = (struct file_table){ .files = SORTED(struct file *, file_cmp) };
    TAILQ_INIT(&table->queue);
    TAILQ_INIT(&table->waiting);
}

void file_table_done(struct file_table *table)
{
    for (size_t i = 0; i < table->files.count; i++)
        file_free(file_table_at(table, i));
    sorted_done(&table->files);
}

struct file *file_table_find(const struct file_table *table, const char *name)
{
    struct file *key = &(struct file){ .name = (char *)name };
    struct file **found = sorted_find(&table->files, &key);
    return found ? *found : NULL;
}

int file_table_add(struct file_table *table, const char *name, struct file **ret_file)
{
    CLEANUP(file_freep) struct file *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    file->ignored = !folder_is_manifest(name);
    file->name = strdup(name);
    if (!file->name || sorted_put(&table->files, &file) < 0)
        return -ENOMEM;
    table->ignored += file->ignored;
    *ret_file = TAKE_PTR(file);
    return 0;
}

void file_table_remove(struct file_table *table, struct file *file)
{
    unlink_from_list(table, file);
    table->ignored -= file->ignored;
    sorted_remove(&table->files, &file);
    file_free(file);
}

void file_table_change(struct file_table *table, struct file *file)
{
    table->observed++;
    if (file->state == FILE_SETTLED)
        file->since = table->observed;
    if (file->state != FILE_QUEUED)
        file_table_queue(table, file);
}

void file_table_queue(struct file_table *table, struct file *file)
{
    unlink_from_list(table, file);
    file->state = FILE_QUEUED;
    TAILQ_INSERT_TAIL(&table->queue, file, link);
}

void file_table_wait(struct file_table *table, struct file *file, int64_t due_ms)
{
    unlink_from_list(table, file);
    file->state = FILE_WAITING;
    file->due_ms = due_ms;
    TAILQ_INSERT_TAIL(&table->waiting, file, link);
}

void file_table_settle(struct file_table *table, struct file *file)
{
    unlink_from_list(table, file);
    file->state = FILE_SETTLED;
}

uint64_t file_table_loaded(const struct file_table *table)
{
    const struct file *file;
    uint64_t loaded = table->observed;
    TAILQ_FOREACH(file, &table->queue, link)
    loaded = MIN(loaded, file->since - 1);
    TAILQ_FOREACH(file, &table->waiting, link)
    loaded = MIN(loaded, file->since - 1);
    return loaded;
}
