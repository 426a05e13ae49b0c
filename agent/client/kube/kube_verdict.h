/* SPDX-License-Identifier: Apache-2.0 */
/* Decides from the API's answer what became of a write; pure. Internal to client/. */
#pragma once

#include "client/kube/kube_write.h"

/* The outcome of a write by the status of the answer. `body`: a Status object, or NULL. */
enum kube_outcome kube_verdict_of(enum kube_verb verb, int status, const struct doc *body);

/*
 * The outcome of an uncertain write, by the object as read: KUBE_DONE if it is as the write would
 * have made it; KUBE_LATER if the write has not happened and still may; otherwise why it can't
 * happen any more. `body` is what was sent, NULL for KUBE_DELETE.
 */
enum kube_outcome kube_verdict_found(const struct kube_write *write, const struct doc *body,
                                     const struct doc *there);

/* The same where there is no such object. */
enum kube_outcome kube_verdict_absent(enum kube_verb verb);
