/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board: what every job of the controller is made with and may look at. All of it is borrowed,
 * and lives as long as the jobs do.
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
    struct kube_client *client; /* for writes; reads come by the store */
    struct elector *elector;
    const struct controller_status *status; /* ->source and ->election; jobs publish the rest */
    struct fault_book *faults;              /* a job's subsystem is its name */
    /* Asks for a round soon, for a change that the store does not tell of: an answer to a write. */
    void (*wake)(void *context);
    void *context;
};

/*
 * True while this controller leads, by the clock of this very moment, and has read every kind once.
 * Nothing is sent otherwise. It makes no write safe: each has a precondition of its own.
 */
static inline bool board_may_write(const struct board *board)
{
    return board->status->source.synced && elector_leads(board->elector);
}
