/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The faults that one detector has found, and since when: the state for the columns `hold_ms` and
 * `linger_ms` of its row. Faults are identified by code, place and key arguments; other arguments
 * may change while a fault holds. Pure: the time is an argument.
 */
#pragma once

#include "base/cleanup.h"
#include "base/vec.h"
#include "detect/detector.h"

struct detected {
    struct fault fault;
    bool seen;     /* in the last run of the detector */
    bool again;    /* scratch of detection_run() */
    bool raised;   /* it was seen for at least `hold_ms`, and is not cleared */
    int64_t at_ms; /* monotonic: when `seen` last changed */
};

/* Empty: all 0. */
struct detection {
    VEC(struct detected) list;
};

/*
 * Runs the detector and records its faults. Returns 0, or -ENOMEM (also where the list of faults is
 * incomplete) with the state unchanged.
 */
int detection_run(struct detection *detection, const struct detector *detector,
                  const struct detector_facts *facts, int64_t now_ms);

/*
 * Updates the state for the time that has passed, where the detector would find the same as before.
 */
void detection_pass(struct detection *detection, const struct detector *detector, int64_t now_ms);

/* Adds copies of the faults that are raised. */
void detection_report(const struct detection *detection, struct faults *faults);

/* When the state changes next while the detector finds the same, monotonic; INT64_MAX: never. */
int64_t detection_due_ms(const struct detection *detection, const struct detector *detector);

void detection_done(struct detection *detection);
