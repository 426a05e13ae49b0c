/* SPDX-License-Identifier: Apache-2.0 */
/* A fault whose place is an object. Internal to plan/. */
#pragma once

#include "faults/raise.h"
#include "model/object.h"

/* As fault_raise(), at the place of an object:
 *
 *   object_raise(faults, &pool->object, pool_subnets_overlap, .subnet = "10.0.0.0/8"); */
#define object_raise(faults, object, id, ...) \
    object_raise_type(faults, object, &fault_type_##id, &(const struct fault_##id){ __VA_ARGS__ })

void object_raise_type(struct faults *faults, const struct object *object,
                       const struct fault_type *type, const void *arguments);
