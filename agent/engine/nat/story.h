/* SPDX-License-Identifier: Apache-2.0 */
/* The story of one traced packet while it is told: what trace.c and story.c share. */
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

/* Finds where the packet comes in: as asked, or by its source. 0 or -errno of trace_function. */
int story_enter(struct story *story);
/* Finds the program that sees it, if any, and fills in `probe` and `hook`. Returns 0 or -errno. */
int story_find_program(struct story *story);
/* Asks the kernel for its route where the packet comes in. Returns 0 or -errno. */
int story_route(struct story *story);
