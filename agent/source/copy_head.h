/* SPDX-License-Identifier: Apache-2.0 */
/* What a copy on disk says of its age: up to where each kind was watched. */
#pragma once

#include <stdbool.h>

#include "status/kube_status.h"
#include "store/copy.h"

/* A copy that is begun now. */
void copy_head_fill(struct copy_head *head, const struct kube_status *kube);

/* Up to when everything in a copy was known to be so: wall clock. */
int64_t copy_head_as_of(const struct copy_head *head);

/* True if every kind is followed, so that a copy that is begun now is as of now. */
bool copy_head_is_now(const struct kube_status *kube);
