/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Event about a Service (events.k8s.io/v1): what its owner can mend.
 *
 * Its name says its cause, so that a second create does no harm and needs no read: whoever writes
 * it needs no right but to create Events.
 */
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "client/kube_write.h"

struct kube_event {
    const char *namespace, *name;      /* the namespace is the Service's, too */
    const char *service, *uid;         /* what it is about */
    const char *reason, *action;       /* "ExportRefused", "Exporting" */
    const char *note;                  /* cut at 1,000 bytes */
    const char *controller, *instance; /* "fingerpost.io/agentd"; who: cut at 128 bytes */
};

/* Writes the body, as of this wall time. Sticky errors of `out`, as everywhere. */
void kube_event_write(const struct kube_event *event, int64_t now_wall_ms, struct text *out);

/* The create of it; the strings are borrowed. */
struct kube_write kube_event_create(const char *namespace, const char *name);
