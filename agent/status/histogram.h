/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of durations: buckets with fixed bounds, as in Prometheus. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_MAX_BOUNDS = 80 };

/* The upper bounds of the buckets, ascending. */
struct histogram_scale {
    size_t count;
    uint32_t bounds_ms[HISTOGRAM_MAX_BOUNDS];
};

/* A histogram is always used with the same scale. All zero: empty. */
struct histogram {
    uint64_t counts[HISTOGRAM_MAX_BOUNDS + 1]; /* not cumulative; last: all above the last bound */
    uint64_t sum_us;
};

/* 1 ms, doubled 14 times; 250 ms to 5 min: those of kube-proxy's metrics of the same meaning. */
extern const struct histogram_scale histogram_sync, histogram_programming;

/* A negative duration (clocks of two machines) counts as 0. */
void histogram_add(struct histogram *histogram, const struct histogram_scale *scale, int64_t us);
