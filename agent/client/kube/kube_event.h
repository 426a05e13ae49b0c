/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Event about an object (events.k8s.io/v1), for what the object's owner can fix.
 *
 * The name is derived from the cause, so a second create has no effect and no read is needed: the
 * writer needs only the right to create Events.
 */
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "client/kube/kube_write.h"

/* What it is about: "v1", "Service". */
struct kube_subject {
    const char *api_version, *kind, *name, *uid;
};

struct kube_event {
    const char *namespace, *name; /* the namespace is the subject's, too */
    struct kube_subject subject;
    const char *reason, *action;       /* "ExportRefused", "Exporting" */
    const char *note;                  /* truncated at 1,000 bytes */
    const char *controller, *instance; /* "fingerpost.io/agentd"; at most 128 bytes of the latter */
};

enum { KUBE_EVENT_NAME_MAX = 253 };

/* The name of an Event: the subject's name and a hash of its cause, which includes the uid. */
const char *kube_event_name(const char *subject, const char *cause,
                            char buffer[static KUBE_EVENT_NAME_MAX + 1]);

/* Writes the body, as of this wall time. Sticky errors of `out`, as everywhere. */
void kube_event_write(const struct kube_event *event, int64_t now_wall_ms, struct text *out);

/* The create of the Event; the strings are borrowed. */
struct kube_write kube_event_create(const char *namespace, const char *name);
