/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the API still answers, asked where nothing else would show that it does not. Internal to
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
    const char *path;                 /* of something small; copied */
    void (*changed)(void *context);   /* what kube_pulse_lost() says has changed */
    void *context;
};

/* Returns 0 or -errno. */
int kube_pulse_new(sd_event *event, const struct kube_pulse_options *options,
                   struct kube_pulse **ret_pulse);
void kube_pulse_free(struct kube_pulse *pulse);
DEFINE_CLEANUP(struct kube_pulse *, kube_pulse_free);

/* The API has said something: the next question can wait. */
void kube_pulse_heard(struct kube_pulse *pulse);

/* Why the last question had no answer; NULL: it had one. `*ret_remedy` may be NULL. Borrowed. */
const char *kube_pulse_lost(const struct kube_pulse *pulse, const char **ret_remedy);
