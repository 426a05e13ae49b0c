/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one detector has seen, and since when: the memory behind the columns `hold` and `linger` of
 * its row. Faults are told apart by code, place and key arguments; other arguments may change while
 * one is held. Pure: the time is given.
 */
#pragma once

#include "base/cleanup.h"
#include "base/vec.h"
#include "detect/detector.h"

struct detected {
    struct fault fault;
    bool seen;     /* the last time that the detector was asked */
    bool again;    /* scratch of detection_run() */
    bool raised;   /* it was seen for long enough, and is not cleared */
    int64_t at_ms; /* monotonic: `seen` is what it is since then */
};

/* Empty: all 0. */
struct detection {
    VEC(struct detected) list;
};

/*
 * Asks the detector, and takes what it sees now. Returns 0, or -ENOMEM (also where its list is
 * incomplete) with everything as it was.
 */
int detection_run(struct detection *detection, const struct detector *detector,
                  const struct detector_facts *facts, int64_t now_ms);

/* The detector would see the same as before, and time has passed. */
void detection_pass(struct detection *detection, const struct detector *detector, int64_t now_ms);

/* Adds copies of the faults that hold. */
void detection_report(const struct detection *detection, struct faults *faults);

/* When detection_run() changes something though the detector sees the same, monotonic; INT64_MAX:
 * never. */
int64_t detection_due_ms(const struct detection *detection, const struct detector *detector);

void detection_done(struct detection *detection);
