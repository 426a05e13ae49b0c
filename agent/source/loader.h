/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads files that may have changed into the store, and updates faults and status; the inner half
 * of the manifest source. manifest.c finds which files have changed, and reads the members.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "loop/deferred.h"
#include "loop/timer.h"
#include "source/file_table.h"
#include "source/folder.h"
#include "source/manifest.h"

struct loader {
    struct manifest_options options;
    char *directory;
    struct folder *folder;
    struct file_table table;
    struct manifest_file *reading; /* the first of the queue, being read; or NULL */
    struct deferred *slice;
    struct timer *timer;
    int64_t armed_ms;   /* when the timer expires; 0: never */
    bool complete;      /* every name in the folder, and every change of it, is in the table */
    bool store_touched; /* the keys that two files share may have changed, which is not reported yet
                         */
    bool status_changed; /* the daemon has not been called yet */
    uint64_t initial;    /* synced once this generation is loaded; 0: not known */
    uint64_t loaded;
};

int loader_init(struct loader *loader, sd_event *event, const struct manifest_options *options);
void loader_done(struct loader *loader);

bool loader_file_exists(const struct loader *loader, const char *name);

/* The file was changed, added or removed: it is read soon. */
void loader_change(struct loader *loader, struct file *file);

/* Replaces the faults of a group. */
void loader_tell(struct loader *loader, const char *group, const struct faults *faults);

/* Schedules a slice: it updates the status and calls the daemon if anything happened. */
void loader_schedule(struct loader *loader);
