// SPDX-License-Identifier: Apache-2.0
/* A fault whose place is an object; see object_fault.h. */
#include "plan/object_fault.h"

#include "base/text.h"
#include "model/kind.h"

/* NULL: no memory. */
static char *place_of(const struct object *object)
{
    return text_format("%s %s%s%s", kind_name(object->kind), object->namespace,
                       *object->namespace ? "/" : "", object->name);
}

void object_raise_type(struct faults *faults, const struct object *object,
                       const struct fault_type *type, const void *arguments)
{
    AUTOFREE char *place = place_of(object);
    fault_raise_type(faults, place, type, arguments);
}
