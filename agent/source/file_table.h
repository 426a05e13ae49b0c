/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known files of a folder, and which of them need work.
 *
 * Each change gets a number, the observed generation, and a file keeps the number of its oldest
 * change that is not settled. All generations below the lowest of these numbers are loaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/sorted.h"
#include "source/file_keys.h"
#include "source/manifest_file.h"

enum file_state {
    FILE_SETTLED, /* nothing to do: its last content is in the store, or was found broken */
    FILE_QUEUED,  /* to be read */
    FILE_WAITING, /* to be checked again when it is due */
};

struct file {
    char *name;
    bool ignored; /* neither YAML nor JSON: only counted */
    bool broken;
    bool known; /* it was read successfully since the start: its last good content is in force */
    enum file_state state;
    uint64_t since; /* unless settled */
    int64_t due_ms; /* of CLOCK_MONOTONIC, while waiting */
    struct file_id id;
    struct file_keys keys;
    uint64_t ignored_objects;
    TAILQ_ENTRY(file) link;
};

TAILQ_HEAD(file_queue, file);

struct file_table {
    struct sorted files; /* struct file *, by name */
    struct file_queue queue, waiting;
    uint64_t observed;
    uint32_t ignored; /* number of ignored files */
};

void file_table_init(struct file_table *table);
void file_table_done(struct file_table *table);

static inline struct file *file_table_at(const struct file_table *table, size_t index)
{
    return *(struct file **)sorted_at(&table->files, index);
}

struct file *file_table_find(const struct file_table *table, const char *name);

/* Adds a new file, settled. Returns 0 or -ENOMEM. */
int file_table_add(struct file_table *table, const char *name, struct file **ret_file);
void file_table_remove(struct file_table *table, struct file *file);

/* Notes a change: the file is queued, unless it already is. */
void file_table_change(struct file_table *table, struct file *file);

/* Moves a file to the end of the queue, or to the waiting files; its oldest change remains. */
void file_table_queue(struct file_table *table, struct file *file);
void file_table_wait(struct file_table *table, struct file *file, int64_t due_ms);
void file_table_settle(struct file_table *table, struct file *file);

/* The generation up to which all changes are settled. */
uint64_t file_table_loaded(const struct file_table *table);
