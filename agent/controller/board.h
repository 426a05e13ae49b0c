/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board: what every job of the controller is made with and may read. Everything is borrowed and
 * outlives the jobs.
 */
#pragma once

#include <systemd/sd-event.h>

#include "client/kube/kube.h"
#include "config/controller_config.h"
#include "controller/elector.h"
#include "status/controller_status.h"
#include "store/store.h"

struct board {
    sd_event *event;
    const struct controller_config *config;
    const struct store *store;
    struct kube_client *client; /* for writes; reads are served from the store */
    struct elector *elector;
    const struct controller_status *status; /* ->source and ->election; jobs publish the rest */
    struct fault_book *faults;              /* the subsystem of a job's faults is the job's name */
    /* Requests a round soon, for a change that the store does not report: the answer to a write. */
    void (*wake)(void *context);
    void *context;
};

/*
 * True while this controller leads, by the current clock, and has read every kind once. Otherwise
 * nothing is sent. This does not make a write safe: each write has its own precondition.
 */
static inline bool board_may_write(const struct board *board)
{
    return board->status->source.synced && elector_leads(board->elector);
}
