/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What detectors judge by: values that somebody else has read. A kind of fact that was not read, or
 * that this host does not have, says so, and no detector judges it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/* Kinds of facts that are read from the kernel (apply/host_facts.h). */
enum fact_kind {
    FACT_TRACKING = 1 << 0,
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
};
