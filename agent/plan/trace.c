// SPDX-License-Identifier: Apache-2.0
/* The values of a trace; see trace.h. */
#include "plan/trace.h"

#include <stdlib.h>

void trace_done(struct trace *trace)
{
    vec_each(struct trace_step, step, &trace->steps)
        free(step->text);
    vec_done(&trace->steps);
    vec_done(&trace->endpoints);
}
