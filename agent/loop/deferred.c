// SPDX-License-Identifier: Apache-2.0
/*
 * One defer source, normally off.
 *
 * agentd's passes run from it, behind all inputs (engine/schedule.h): sd-event dispatches one
 * source per iteration and asks the kernel for events before each, so that everything that has
 * already arrived on sockets is read before the pass, and one pass answers for all of it.
 *
 * The source is one-shot: sd-event turns it off before it calls the handler, not after, which is
 * why a run that is scheduled from inside a run is not lost. The handler touches nothing after
 * `run`, which may have freed the object.
 */
#include "loop/deferred.h"

#include <errno.h>
#include <stdlib.h>

struct deferred {
    sd_event_source *source;
    void (*run)(void *context);
    void *context;
};

static int on_defer(sd_event_source *source, void *userdata)
{
    (void)source;
    struct deferred *deferred = userdata;
    deferred->run(deferred->context);
    return 0;
}

int deferred_new(sd_event *event, int64_t priority, void (*run)(void *context), void *context,
                 struct deferred **ret_deferred)
{
    CLEANUP(deferred_freep) struct deferred *deferred = calloc(1, sizeof(*deferred));
    if (!deferred)
        return -ENOMEM;
    deferred->run = run;
    deferred->context = context;

    int r = sd_event_add_defer(event, &deferred->source, on_defer, deferred);
    if (r < 0)
        return r;
    r = sd_event_source_set_enabled(deferred->source, SD_EVENT_OFF);
    if (r < 0)
        return r;
    r = sd_event_source_set_priority(deferred->source, priority);
    if (r < 0)
        return r;
    *ret_deferred = TAKE_PTR(deferred);
    return 0;
}

void deferred_schedule(struct deferred *deferred)
{
    (void)sd_event_source_set_enabled(deferred->source, SD_EVENT_ONESHOT);
}

void deferred_free(struct deferred *deferred)
{
    if (!deferred)
        return;
    sd_event_source_disable_unref(deferred->source);
    free(deferred);
}
