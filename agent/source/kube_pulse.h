/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the API still answers, where nothing else would show that it does not. Internal to
 * source/; kube.c has one.
 */
#pragma once

#include <stdbool.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/kube/kube.h"

struct kube_pulse;
struct kube_timing;

struct kube_pulse_options {
    struct kube_client *client;
    const struct kube_timing *timing; /* outlives the pulse */
    const char *path;                 /* of a small object; copied */
    void (*changed)(void *context);   /* the result of kube_pulse_lost() has changed */
    void *context;
};

/* Returns 0 or -errno. */
int kube_pulse_new(sd_event *event, const struct kube_pulse_options *options,
                   struct kube_pulse **ret_pulse);
void kube_pulse_free(struct kube_pulse *pulse);
DEFINE_CLEANUP(struct kube_pulse *, kube_pulse_free);

/* The API has sent something: the next check can wait. */
void kube_pulse_heard(struct kube_pulse *pulse);

/* Why the last check had no answer; NULL: it had one. `*ret_remedy` may be NULL. Borrowed. */
const char *kube_pulse_lost(const struct kube_pulse *pulse, const char **ret_remedy);
