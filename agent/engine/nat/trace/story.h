/* SPDX-License-Identifier: Apache-2.0 */
/* The story of one traced packet while it is told: what trace.c and story.c share. */
#pragma once

#include "apply/lookup.h"
#include "engine/nat/trace/trace.h"

struct story {
    const struct tracer *tracer;
    const struct trace_question *question;
    struct nat_probe probe;
    uint32_t ifindex;         /* where it comes in; 0: made on this node */
    struct route_found route; /* the kernel's, if it was needed */
    struct trace *trace;
};

/* Finds where the packet comes in: as asked, or by its source. 0 or -errno of trace_function. */
int story_enter(struct story *story);
/* Finds the program that sees it, if any, and fills in `probe` and `hook`. Returns 0 or -errno. */
int story_find_program(struct story *story);
/*
 * Asks who sees the packet behind service NAT (struct trace_next), where it goes on by the stack.
 * `to`: its new destination; NULL: as it came. Returns 1 if it goes no further, 0, or -errno.
 */
int story_go_behind(struct story *story, const struct nat_endpoint *to);
/* Asks the kernel for its route where the packet comes in. Returns 0 or -errno. */
int story_route(struct story *story);
