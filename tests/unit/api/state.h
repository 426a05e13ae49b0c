/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent's state made by hand: rows, kernel and faults that no planner would put together, so
 * that every branch of a document shows. Monotonic time stands still at NOW_MS, wall time at
 * WALL_MS (the linker wraps clock_mono_ms() and clock_wall_ms()).
 */
#pragma once

#include "api/view.h"

#define NOW_MS  INT64_C(277260000) /* 3 d 5 h 1 min after the start at 0 */
#define WALL_MS INT64_C(1795160000000)

struct made_state {
    struct api_state api; /* what the views are given */
    struct status status;
    struct config *config;
    struct store *store;
    struct route_plan plan;
    struct sorted installed, rules;
};

struct made_state *made_state_new(void);
void made_state_free(struct made_state *state);

/* From "web.yaml". */
void made_object(struct store *store, const char *yaml);
void made_fault(struct made_state *state, const char *subsystem, const char *group,
                const char *place, const char *message, const char *remedy);
/* "blackhole 10.0.0.1/32 proto 31" into the mirror. */
void made_route(struct made_state *state, uint32_t table, const char *prefix, uint8_t type,
                uint8_t protocol, uint32_t metric);

/* `expected` has ' for ", so that it can be read. */
void assert_document(const struct text *out, const char *expected);

/* The document from `begin` on; up to `end` where that is given. */
void assert_document_part(const struct text *out, const char *begin, const char *end,
                          const char *expected);
