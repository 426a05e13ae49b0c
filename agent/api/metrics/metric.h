/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of the Prometheus text format 0.0.4. Only view_metrics*.c include this. */
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "status/histogram.h"

/* The two lines that begin a family; "counter", "gauge", "histogram", "untyped". */
void metric(struct text *out, const char *name, const char *type, const char *help);
/* One sample with one label, or with none (NULL). */
void metric_sample(struct text *out, const char *name, const char *label, const char *value,
                   uint64_t count);
/* A family of one sample without labels. */
void metric_single(struct text *out, const char *name, const char *type, const char *help,
                   uint64_t value);
/* The same, a gauge in seconds. */
void metric_seconds(struct text *out, const char *name, const char *help, int64_t us);
void metric_histogram(struct text *out, const char *name, const char *help,
                      const struct histogram *histogram, const struct histogram_scale *scale);
/* name="value", escaped. */
void metric_label(struct text *out, const char *name, const char *value);
