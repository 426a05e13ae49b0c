// SPDX-License-Identifier: Apache-2.0
/* The state of one detector; see detection.h. */
#include "detect/detection.h"

#include <errno.h>

#include "base/macro.h"

static struct detected *find(struct detection *detection, const struct fault *fault)
{
    vec_each(struct detected, detected, &detection->list) {
        if (fault_is_same(&detected->fault, fault))
            return detected;
    }
    return NULL;
}

/* Adds or updates a fault that was found, with its current message; space is reserved. */
static void enter(struct detection *detection, struct fault *fault)
{
    struct detected *detected = find(detection, fault);
    if (!detected) {
        detected = &detection->list.items[detection->list.count++];
        *detected = (struct detected){ 0 };
    }
    fault_done(&detected->fault);
    detected->fault = *fault;
    detected->again = true;
    *fault = (struct fault){ 0 };
}

/* Returns whether the fault is to be kept. */
static bool settle(struct detected *detected, const struct detector *detector, int64_t now_ms)
{
    if (detected->again != detected->seen)
        detected->at_ms = now_ms;
    detected->seen = detected->again;
    detected->again = false;
    if (!detected->seen)
        return detected->raised && now_ms - detected->at_ms < detector->linger_ms;
    detected->raised |= now_ms - detected->at_ms >= detector->hold_ms;
    return true;
}

static void settle_all(struct detection *detection, const struct detector *detector, int64_t now_ms)
{
    size_t kept = 0;
    vec_each(struct detected, detected, &detection->list) {
        if (settle(detected, detector, now_ms))
            detection->list.items[kept++] = *detected;
        else
            fault_done(&detected->fault);
    }
    detection->list.count = kept;
}

static int see(struct detection *detection, const struct detector *detector, struct faults *found,
               int64_t now_ms)
{
    int r = found->incomplete ? -ENOMEM : vec_reserve(&detection->list, found->list.count);
    if (r < 0)
        return r;
    vec_each(struct fault, fault, &found->list)
        enter(detection, fault);
    vec_clear(&found->list);

    settle_all(detection, detector, now_ms);
    return 0;
}

int detection_run(struct detection *detection, const struct detector *detector,
                  const struct detector_facts *facts, int64_t now_ms)
{
    AUTOFAULTS struct faults found = { 0 };
    detector->detect(facts, &found);
    return see(detection, detector, &found, now_ms);
}

void detection_pass(struct detection *detection, const struct detector *detector, int64_t now_ms)
{
    vec_each(struct detected, detected, &detection->list)
        detected->again = detected->seen;
    settle_all(detection, detector, now_ms);
}

void detection_report(const struct detection *detection, struct faults *faults)
{
    vec_each(const struct detected, detected, &detection->list) {
        if (detected->raised)
            faults_add_copy(faults, detected->fault.place, &detected->fault);
    }
}

int64_t detection_due_ms(const struct detection *detection, const struct detector *detector)
{
    int64_t due_ms = INT64_MAX;
    vec_each(const struct detected, detected, &detection->list) {
        if (!detected->seen)
            due_ms = MIN(due_ms, detected->at_ms + detector->linger_ms);
        else if (!detected->raised)
            due_ms = MIN(due_ms, detected->at_ms + detector->hold_ms);
    }
    return due_ms;
}

void detection_done(struct detection *detection)
{
    vec_each(struct detected, detected, &detection->list)
        fault_done(&detected->fault);
    vec_done(&detection->list);
}
