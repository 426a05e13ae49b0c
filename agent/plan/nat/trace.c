// SPDX-License-Identifier: Apache-2.0
/* The values of a trace; see trace.h. */
#include "plan/nat/trace.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/text.h"

void trace_tell(struct trace *trace, const char *title, const char *format, ...)
{
    AUTOTEXT struct text text = { 0 };
    struct trace_step step = { .title = title };
    va_list args;

    va_start(args, format);
    text_vaddf(&text, format, args);
    va_end(args);
    step.text = text_take(&text);
    if (step.text && vec_push(&trace->steps, step) == 0)
        return;
    free(step.text);
    trace->failed = true;
}

void trace_done(struct trace *trace)
{
    vec_each(struct trace_step, step, &trace->steps)
        free(step->text);
    vec_done(&trace->steps);
    vec_done(&trace->endpoints);
}
