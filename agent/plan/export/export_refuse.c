// SPDX-License-Identifier: Apache-2.0
/*
 * A Service that requests the export and is refused: added to the plan, for lookups of its
 * documents, and to the faults, for operators. Called by export.c and export_service.c.
 */
#include <errno.h>
#include <stdarg.h>

#include "faults/export.h"
#include "faults/raise.h"
#include "plan/export/export_parts.h"
#include "plan/object_fault.h"

int export_refuse(struct exporting *exporting, const struct service *service, const char *remedy,
                  const char *format, ...)
{
    const struct object *object = &service->object;
    struct arena *arena = exporting->plan->arena;
    AUTOTEXT struct text message = { 0 }, owner = { 0 };
    va_list args;
    va_start(args, format);
    text_vaddf(&message, format, args);
    va_end(args);
    text_addf(&owner, "%s/%s", object->namespace, object->name);
    const struct export_refusal refusal = {
        .namespace = arena_strdup(arena, object->namespace),
        .name = arena_strdup(arena, object->name),
        .uid = arena_strdup(arena, object->uid ? object->uid : ""),
        .owner = arena_strdup(arena, text_str(&owner)),
        .message = arena_strdup(arena, text_str(&message)),
        .remedy = arena_strdup(arena, remedy),
    };
    if (text_error(&message) < 0 || text_error(&owner) < 0 || !refusal.namespace || !refusal.name ||
        !refusal.uid || !refusal.owner || !refusal.message || !refusal.remedy)
        return -ENOMEM;
    object_raise(exporting->faults, object, export_refused, .reason = refusal.message,
                 .remedy = remedy);
    return vec_push(&exporting->plan->refusals, refusal);
}
