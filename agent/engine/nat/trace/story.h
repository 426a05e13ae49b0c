/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a trace of one packet while it is made: what trace.c and story.c share. */
#pragma once

#include "apply/lookup.h"
#include "engine/nat/trace/trace.h"

struct story {
    const struct tracer *tracer;
    const struct trace_question *question;
    struct nat_probe probe;
    uint32_t ifindex;         /* the interface by which it enters; 0: made on this node */
    struct route_found route; /* the kernel's route, if it was needed */
    struct trace *trace;
};

/*
 * Finds the interface by which the packet enters: as requested, or by its source. 0 or -errno of
 * trace_function.
 */
int story_enter(struct story *story);
/*
 * Finds the program that processes it, if any, and fills in `probe` and `hook`. Returns 0 or
 * -errno.
 */
int story_find_program(struct story *story);
/*
 * Follows the packet behind service NAT (struct trace_next), where it continues in the stack. `to`:
 * its new destination; NULL: unchanged. Returns 1 if it goes no further, 0, or -errno.
 */
int story_go_behind(struct story *story, const struct nat_endpoint *to);
/* Queries the kernel for the packet's route at its entry interface. Returns 0 or -errno. */
int story_route(struct story *story);
