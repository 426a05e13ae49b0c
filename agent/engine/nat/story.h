/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a trace share: the story while it is told. */
#pragma once

#include "apply/lookup.h"
#include "engine/nat/trace.h"

struct story {
    const struct tracer *tracer;
    const struct trace_question *question;
    struct nat_probe probe;
    uint32_t ifindex;         /* where it comes in; 0: made on this node */
    struct route_found route; /* the kernel's, if it was needed */
    bool failed;              /* memory ran out while something was told */
    struct trace *trace;
};

/* Adds a sentence. */
void story_tell(struct story *story, const char *title, const char *format, ...) PRINTF_LIKE(3, 4);

/* Where the packet comes in: told, or by its source. Returns 0 or -errno of trace_function. */
int story_enter(struct story *story);
/* Which program sees it: `probe` and `hook` are filled in, if one does. Returns 0 or -errno. */
int story_find_program(struct story *story);
/* What the kernel would do with it where it comes in. Returns 0 or -errno. */
int story_route(struct story *story);
