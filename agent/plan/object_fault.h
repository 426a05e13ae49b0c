/* SPDX-License-Identifier: Apache-2.0 */
/* A fault whose place is an object. Internal to plan/. */
#pragma once

#include "base/fault.h"
#include "model/object.h"

/* Adds it at "Egress internet/nat" or "Node node1". A message of NULL is one without memory: the
 * list is incomplete then. */
void object_fault(struct faults *faults, const struct object *object, const char *remedy,
                  const char *message);
