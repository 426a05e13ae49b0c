/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of manifests as the source of objects.
 *
 * Files *.yaml, *.yml and *.json directly in the folder are read; names that begin with a dot are
 * not. The folder is watched by inotify; a file is read when it was closed after writing, renamed
 * into place, linked, or replaced through a `..data` link as ConfigMap mounts do. A broken file is
 * a fault, and its last good content stays in force. When a file is removed, its objects are
 * removed after a moment (editors and `mv` replace files in two steps). Long files are read in
 * slices, so that the loop is never blocked.
 */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "status/status.h"
#include "store/store.h"

struct manifest_source;

struct manifest_options {
    const char *directory;
    uint64_t max_file_bytes;
    struct store *store;            /* receives the objects; origin is the file's name */
    struct source_status *status;   /* kept up to date */
    struct fault_book *faults;      /* subsystem "manifests", group = file name, "" for the folder,
                                     * "duplicates" for keys in two files */
    void (*changed)(void *context); /* the store or the status changed: a pass is due */
    void *context;
};

/*
 * Starts watching. A missing folder is a fault and is retried, with backoff. `status->synced`
 * becomes true when every file found at the start was read (good or broken). Returns 0 or -errno.
 */
int manifest_source_start(sd_event *event, const struct manifest_options *options,
                          struct manifest_source **ret_source);

/*
 * The generation up to which everything observed is in the store: what was observed before a pass
 * and is no longer pending counts as applied after it.
 */
uint64_t manifest_source_loaded_generation(const struct manifest_source *source);

/* Compares every file with its last read state (size, times, inode) and reads those that differ. */
void manifest_source_rescan(struct manifest_source *source);

void manifest_source_free(struct manifest_source *source);
DEFINE_CLEANUP(struct manifest_source *, manifest_source_free);

/*
 * Reads a folder once, without watching: for `agentctl plan`. Faults have file and line; the caller
 * adds those of manifest_conflicts(). Returns 0 (even with broken files), or -errno with a fault if
 * the folder can't be read.
 */
int manifest_load(const char *directory, uint64_t max_file_bytes, struct store *store,
                  struct faults *faults);
