/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What detectors judge by: values that somebody else has read. A kind of fact that was not read, or
 * that this host does not have, says so, and no detector judges it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "status/bird_status.h"

/* Kinds of facts: read from the kernel (apply/host_facts.h), or by whom the kind names. */
enum fact_kind {
    FACT_TRACKING = 1 << 0,
    FACT_BIRD = 1 << 1, /* by who polls BIRD */
};

/* The table of tracked connections. */
struct tracking_facts {
    bool known; /* this kernel tracks connections */
    int64_t count, most;
};

/* All borrowed. */
struct detector_facts {
    const struct config *config; /* NULL: none can be read */
    struct tracking_facts tracking;
    const struct bird_status *bird; /* a BIRD that answers; with the wall clock's time then */
    int64_t wall_ms;
};
