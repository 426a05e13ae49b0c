/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a copy on disk, which has the copy's age: up to when each kind was watched. */
#pragma once

#include <stdbool.h>

#include "status/kube_status.h"
#include "store/copy.h"

/* Fills the head of a copy that begins now. */
void copy_head_fill(struct copy_head *head, const struct kube_status *kube);

/* The wall clock time up to which everything in a copy was known to be current. */
int64_t copy_head_as_of(const struct copy_head *head);

/* True if every kind is being watched, so that a copy that begins now is current. */
bool copy_head_is_now(const struct kube_status *kube);
