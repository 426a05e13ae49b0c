// SPDX-License-Identifier: Apache-2.0
/*
 * Receives answers: splits them, and passes the parts to kube_list.c or kube_watch.c. Called by
 * reflector.c.
 *
 * A parser that finds an error which invalidates the rest abandons the answer, with a reason; the
 * consequences are decided when the request has ended.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/kube/kube_refusal.h"
#include "loop/timer.h"
#include "source/reflector.h"

enum { REFUSAL_MAX = 4096 }; /* bytes kept of an answer that is not 200 */

int reflector_give_up(struct reflector *reflector, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reflector->trouble, sizeof(reflector->trouble), format, args);
    va_end(args);
    kube_refusal_clean(reflector->trouble);
    return -1;
}

int64_t reflector_patience_ms(const struct reflector *reflector)
{
    const struct kube_timing *timing = reflector->timing;
    const int64_t left_ms = reflector->list_began_ms + timing->list_ms - clock_mono_ms();
    return reflector->task == TASK_WATCH ? timing->silence_ms
                                         : MIN(timing->answer_ms, MAX(left_ms, 0));
}

static int take_part(struct reflector *reflector, bool whole, const struct json_part *part,
                     const struct faults *why)
{
    /* With or without a name, read or not. */
    reflector->elements++;
    if (reflector->task != TASK_WATCH && reflector->elements > reflector->timing->list_max)
        return reflector_give_up(reflector, "the list does not come to an end");
    switch (reflector->task) {
    case TASK_LIST:
        if (part->kind == JSON_ITEM && list_head(reflector) < 0)
            return -1;
        return whole ? list_part(reflector, part) : list_refused_part(reflector, part->text, why);
    case TASK_CHECK:
        return part->kind == JSON_ITEM ? 0 : list_part(reflector, part);
    case TASK_WATCH:
        return whole ? watch_part(reflector, part) : watch_refused_part(reflector, part->text, why);
    case TASK_NONE:
        break;
    }
    return 0;
}

/* Reads the parts that the splitter has cut. Returns 0 or -1. */
static int read_parts(struct reflector *reflector)
{
    for (;;) {
        struct json_part part;
        AUTOFAULTS struct faults why = { 0 };
        int r = json_splitter_next(reflector->splitter, &part, &why);
        if (r == 0)
            return 0;
        if (r == -ENOMEM)
            return reflector_give_up(reflector, "no memory for the answer");
        if (r == -EBADMSG)
            return reflector_give_up(reflector, "the answer is no JSON, or was cut off");
        reflector->status->last_event_wall_ms = clock_wall_ms();
        timer_arm(reflector->patience, reflector_patience_ms(reflector));
        r = take_part(reflector, r > 0, &part, &why);
        if (r < 0)
            return r;
    }
}

int reflector_read(struct reflector *reflector, const char *bytes, size_t size)
{
    if (reflector->http_status != 200) {
        text_add_bytes(&reflector->refusal, bytes,
                       MIN(size, REFUSAL_MAX - reflector->refusal.length));
        return 0;
    }
    json_splitter_push(reflector->splitter, bytes, size);
    return read_parts(reflector);
}

void reflector_read_end(struct reflector *reflector)
{
    json_splitter_end(reflector->splitter);
    if (read_parts(reflector) == 0 && reflector->task != TASK_WATCH && !reflector->framed)
        (void)reflector_give_up(reflector, "the answer is empty");
}
