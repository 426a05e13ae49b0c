/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the store's copy on disk for the Kubernetes source, and lets it be used for the API at the
 * start.
 *
 * The copy is put into the store before the source starts, which then compares. Nothing is done
 * with it while the source may yet answer; when it has not within source.startWait, the copy is in
 * force: what it says is added, and nothing is removed on its account.
 *
 * Written is only what a synced source says, soon after a change, seldom while changes go on: at
 * most every ten seconds, and no more than 64 KiB a second over time. It is written in slices of
 * the loop, and once more at the end.
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
    int64_t wait_ms;                        /* for the source, at the start */
    int64_t calm_ms;                        /* from a change to the writing of it */
    int64_t interval_ms;                    /* between two copies, at least */
    int64_t bytes_per_ms;                   /* so much may be written over time */
    int64_t disk_ms;                        /* what the disk is given before it is waited for */
    int64_t refresh_ms;                     /* an unchanged copy is written again to be young */
    int64_t retry_initial_ms, retry_max_ms; /* after a failure */
};

extern const struct copy_timing copy_timing_default; /* wait_ms is the configuration's */

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

/* The API is asked elsewhere from now on. Returns 0 or -ENOMEM. */
int copy_keeper_set_server(struct copy_keeper *keeper, const char *server);

/* The source has changed the store or its status. */
void copy_keeper_source_changed(struct copy_keeper *keeper);

/* Writes what is not written yet, and waits for it. */
void copy_keeper_free(struct copy_keeper *keeper);
DEFINE_CLEANUP(struct copy_keeper *, copy_keeper_free);
