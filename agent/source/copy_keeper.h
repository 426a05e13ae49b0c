/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the store's copy on disk for the Kubernetes source, and replaces the API by it at the
 * start.
 *
 * The copy is loaded into the store before the source starts, which then compares. The copy is not
 * used while the source may still sync; if it has not synced within source.startWait, the copy is
 * in force: its objects are added, and nothing is removed because of it.
 *
 * Only the state of a synced source is written: soon after a change, and rarely while changes
 * continue, at most every ten seconds and no more than 64 KiB a second on average. It is written in
 * slices of the loop, and a last time at exit.
 */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "status/status.h"
#include "store/copy.h"
#include "store/store.h"

struct copy_keeper;

struct copy_timing {
    int64_t wait_ms;      /* for the source to sync, at the start */
    int64_t calm_ms;      /* from a change until it is written */
    int64_t interval_ms;  /* between two copies, at least */
    int64_t bytes_per_ms; /* the average rate of writing */
    int64_t disk_ms;      /* the time for write-back before the writer waits for the disk */
    int64_t refresh_ms;   /* an unchanged copy is rewritten after this, to update its age */
    int64_t retry_initial_ms, retry_max_ms; /* after a failure */
};

extern const struct copy_timing copy_timing_default; /* wait_ms is set by the configuration */

struct copy_keeper_options {
    sd_event *event;
    const char *path;
    struct copy_owner owner;          /* copied */
    const char *origin;               /* of the source's objects in the store */
    const struct copy_timing *timing; /* copied */
    struct store *store;
    struct status *status; /* ->source is read, ->copy kept up to date; ->faults: "kubernetes" */
    void (*settled)(void *context); /* once: the source has synced, or the wait for it is over */
    void *context;
};

/* Loads the copy that is there; one that can't be used is a fault. Returns 0 or -errno. */
int copy_keeper_new(const struct copy_keeper_options *options, struct copy_keeper **ret_keeper);

/* The API has another address from now on. Returns 0 or -ENOMEM. */
int copy_keeper_set_server(struct copy_keeper *keeper, const char *server);

/* The source has changed the store or its status. */
void copy_keeper_source_changed(struct copy_keeper *keeper);

/* Writes unwritten changes and waits until they are on disk. */
void copy_keeper_free(struct copy_keeper *keeper);
DEFINE_CLEANUP(struct copy_keeper *, copy_keeper_free);
