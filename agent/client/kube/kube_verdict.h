/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer of the API means for a write; pure. Internal to client/. */
#pragma once

#include "client/kube/kube_write.h"

/* What a write comes to by the status of the answer. `body`: a Status object, or NULL. */
enum kube_outcome kube_verdict_of(enum kube_verb verb, int status, const struct doc *body);

/*
 * What has become of a write of which nobody knows, by the object that is there: KUBE_DONE if it is
 * as the write would have made it; KUBE_LATER if the write has not happened and may still; else
 * why it can't any more. `body` is what was sent, NULL for KUBE_DELETE.
 */
enum kube_outcome kube_verdict_found(const struct kube_write *write, const struct doc *body,
                                     const struct doc *there);

/* The same where there is no such object. */
enum kube_outcome kube_verdict_absent(enum kube_verb verb);
