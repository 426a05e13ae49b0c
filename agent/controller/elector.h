/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes part in the election of the controller that leads: asks of the API what plan/election.h
 * wants asked, and tells when leadership was gained or lost.
 *
 * Times are those of CLOCK_BOOTTIME, which goes on while the machine sleeps: a leader that wakes up
 * knows that its time is over.
 */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/kube/kube.h"
#include "config/controller_config.h"
#include "status/controller_status.h"

struct elector;

struct elector_options {
    sd_event *event;
    struct kube_client *client;             /* must outlive the elector, as the next three */
    const struct controller_config *config; /* ->election */
    struct election_status *status;         /* kept up to date */
    struct fault_book *faults;              /* subsystem "election" */
    void (*changed)(void *context);         /* ->leading, or what else is known of the Lease */
    void *context;
};

/* Begins as a follower, from the next turn of the loop on. Returns 0 or -errno. */
int elector_new(const struct elector_options *options, struct elector **ret_elector);

/*
 * True if this controller leads at this moment. Asked before each write: a process that was stopped
 * finds out here that it leads no more, before any timer has told it.
 */
bool elector_leads(const struct elector *elector);

/*
 * Leads no more from now on, whatever else happens, and gives the Lease back if it is held.
 * `released` is called when that is done, or has failed; at once if there is nothing to give back.
 */
void elector_release(struct elector *elector, void (*released)(void *context));

/* What was sent may happen all the same. */
void elector_free(struct elector *elector);
DEFINE_CLEANUP(struct elector *, elector_free);
