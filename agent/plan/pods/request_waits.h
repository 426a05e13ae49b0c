/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BlockRequests that can't be completed yet, and why: for `agentctl controller requests`, and
 * as faults. Kept by the job of blocks, which sets them when it processes a request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/sorted.h"
#include "plan/pods/block_plan.h"

struct request_waits {
    struct sorted rows;
    bool changed; /* since request_waits_faults() */
};

void request_waits_init(struct request_waits *waits);
void request_waits_done(struct request_waits *waits);

/*
 * Sets why a request waits; WAIT_NOTHING: it does not, or is gone. Without memory nothing is set
 * until the next call.
 */
void request_waits_set(struct request_waits *waits, const char *name, enum request_wait wait);

/* Why a request waits; WAIT_NOTHING: it does not, or was not processed yet. */
enum request_wait request_waits_of(const struct request_waits *waits, const char *name);

void request_waits_clear(struct request_waits *waits);

static inline size_t request_waits_count(const struct request_waits *waits)
{
    return waits->rows.count;
}

/* Adds a fault for each request that needs an operator, up to a limit. */
void request_waits_faults(struct request_waits *waits, struct faults *faults);
