/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes part in leader election: sends the requests that plan/election.h asks for, and reports when
 * leadership was gained or lost.
 *
 * Times are those of CLOCK_BOOTTIME, which includes suspend: a leader that resumes knows that its
 * lease has expired.
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
    void (*changed)(void *context);         /* ->leading, or other state of the Lease */
    void *context;
};

/* Begins as a follower, from the next iteration of the loop on. Returns 0 or -errno. */
int elector_new(const struct elector_options *options, struct elector **ret_elector);

/*
 * True if this controller leads at this moment. Checked before each write: a process that was
 * stopped detects here that it does not lead any more, before any timer runs.
 */
bool elector_leads(const struct elector *elector);

/*
 * Ends leadership, whatever happens then, and releases the Lease if it is held. `released` is
 * called when that is done, or has failed; at once if the Lease is not held.
 */
void elector_release(struct elector *elector, void (*released)(void *context));

/* A request that was sent may still be executed. */
void elector_free(struct elector *elector);
DEFINE_CLEANUP(struct elector *, elector_free);
