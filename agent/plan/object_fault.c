// SPDX-License-Identifier: Apache-2.0
/* A fault whose place is an object; see object_fault.h. */
#include "plan/object_fault.h"

#include "base/text.h"
#include "model/kind.h"

void object_fault(struct faults *faults, const struct object *object, const char *remedy,
                  const char *message)
{
    AUTOFREE char *place = text_format("%s %s%s%s", kind_name(object->kind), object->namespace,
                                       *object->namespace ? "/" : "", object->name);
    if (place && message)
        faults_add(faults, place, remedy, "%s", message);
    else
        faults->incomplete = true;
}
