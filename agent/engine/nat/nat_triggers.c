// SPDX-License-Identifier: Apache-2.0
/* Endpoint changes that are not in the maps yet; see nat_triggers.h. */
#include "engine/nat/nat_triggers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "model/services/endpoint_slice.h"

static int trigger_cmp(const void *a, const void *b)
{
    const struct nat_trigger *left = a, *right = b;
    int r = strcmp(left->namespace, right->namespace);
    return r ? r : strcmp(left->name, right->name);
}

void nat_triggers_init(struct nat_triggers *triggers)
{
    *triggers = (struct nat_triggers){
        .services = SORTED(struct nat_trigger, trigger_cmp),
        .started_wall_ms = clock_wall_ms(),
    };
}

void nat_triggers_done(struct nat_triggers *triggers)
{
    sorted_each(struct nat_trigger, trigger, &triggers->services) {
        free(trigger->namespace);
        free(trigger->name);
    }
    sorted_done(&triggers->services);
}

void nat_triggers_forget(struct nat_triggers *triggers, size_t index)
{
    struct nat_trigger trigger = *(struct nat_trigger *)sorted_at(&triggers->services, index);
    sorted_remove(&triggers->services, &trigger);
    free(trigger.namespace);
    free(trigger.name);
}

static struct nat_trigger *find(const struct nat_triggers *triggers,
                                const struct endpoint_slice *slice)
{
    const struct nat_trigger key = {
        .namespace = (char *)slice->object.namespace,
        .name = (char *)slice->service,
    };
    return sorted_find(&triggers->services, &key);
}

static int add(struct nat_triggers *triggers, const struct endpoint_slice *slice)
{
    struct nat_trigger trigger = {
        .namespace = strdup(slice->object.namespace),
        .name = strdup(slice->service),
        .wall_ms = slice->triggered_ms,
    };
    if (trigger.namespace && trigger.name && sorted_put(&triggers->services, &trigger) == 0)
        return 0;
    free(trigger.namespace);
    free(trigger.name);
    return -ENOMEM;
}

static bool counts(const struct object *object)
{
    return object && object->kind == KIND_ENDPOINT_SLICE &&
           to_endpoint_slice(object)->family != IP_NONE && *to_endpoint_slice(object)->service;
}

int nat_triggers_saw(struct nat_triggers *triggers, const struct change *change)
{
    const bool gone = !change->after;
    const struct object *any = gone ? change->before : change->after;
    if (!counts(any))
        return 0;
    const struct endpoint_slice *slice = to_endpoint_slice(any);
    struct nat_trigger *known = find(triggers, slice);
    if (gone && known)
        nat_triggers_forget(triggers, (size_t)((char *)known - triggers->services.items) /
                                          triggers->services.size);
    if (gone || slice->triggered_ms <= triggers->started_wall_ms)
        return 0;
    if (!known)
        return add(triggers, slice);
    known->wall_ms = MIN(known->wall_ms, slice->triggered_ms);
    return 0;
}
