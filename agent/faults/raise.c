// SPDX-License-Identifier: Apache-2.0
/* Raising a fault; see raise.h. */
#include "faults/raise.h"

#include <stdlib.h>
#include <string.h>

#include "faults/render.h"

void fault_raise_type(struct faults *faults, const char *place, const struct fault_type *type,
                      const void *arguments)
{
    struct text key = { 0 }, message = { 0 }, remedy = { 0 };
    fault_render_key(type, arguments, &key);
    fault_render(type, type->message, arguments, &message);
    if (type->remedy)
        fault_render(type, type->remedy, arguments, &remedy);
    const bool mends = text_error(&remedy) < 0 || *text_str(&remedy);

    struct fault fault = {
        .type = type,
        .key = text_take(&key),
        .place = place ? strdup(place) : NULL,
        .message = text_take(&message),
        .remedy = mends ? text_take(&remedy) : NULL,
    };
    text_done(&remedy);
    faults_push(faults, fault,
                fault.key && fault.place && fault.message && (!mends || fault.remedy));
}
