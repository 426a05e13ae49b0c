// SPDX-License-Identifier: Apache-2.0
/*
 * Pieces of the Prometheus text format, version 0.0.4
 * (prometheus.io/docs/instrumenting/exposition_formats). A histogram's buckets are cumulated.
 */
#include "api/metrics/metric.h"

#include <inttypes.h>

void metric(struct text *out, const char *name, const char *type, const char *help)
{
    text_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Backslash, quote and line feed are what the format wants escaped. */
void metric_label(struct text *out, const char *name, const char *value)
{
    text_addf(out, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '\n') {
            text_add(out, "\\n");
            continue;
        }
        if (*value == '\\' || *value == '"')
            text_add_char(out, '\\');
        text_add_char(out, *value);
    }
    text_add_char(out, '"');
}

void metric_sample(struct text *out, const char *name, const char *label, const char *value,
                   uint64_t count)
{
    text_add(out, name);
    if (label) {
        text_add_char(out, '{');
        metric_label(out, label, value);
        text_add_char(out, '}');
    }
    text_addf(out, " %" PRIu64 "\n", count);
}

void metric_single(struct text *out, const char *name, const char *type, const char *help,
                   uint64_t value)
{
    metric(out, name, type, help);
    metric_sample(out, name, NULL, NULL, value);
}

void metric_seconds(struct text *out, const char *name, const char *help, int64_t us)
{
    metric(out, name, "gauge", help);
    text_addf(out, "%s %" PRId64 ".%06" PRId64 "\n", name, us / 1000000, us % 1000000);
}

/* "0.25", "16.384", "60": as short as it can be. */
static void add_bound(struct text *out, uint32_t ms)
{
    text_addf(out, "%u", ms / 1000);
    if (ms % 1000 == 0)
        return;
    unsigned rest = ms % 1000;
    int digits = 3;
    for (; rest % 10 == 0; rest /= 10)
        digits--;
    text_addf(out, ".%0*u", digits, rest);
}

void metric_histogram(struct text *out, const char *name, const char *help,
                      const struct histogram *histogram, const struct histogram_scale *scale)
{
    uint64_t sum = 0;

    metric(out, name, "histogram", help);
    for (size_t i = 0; i < scale->count; i++) {
        sum += histogram->counts[i];
        text_addf(out, "%s_bucket{le=\"", name);
        add_bound(out, scale->bounds_ms[i]);
        text_addf(out, "\"} %" PRIu64 "\n", sum);
    }
    sum += histogram->counts[scale->count];
    text_addf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, sum);
    text_addf(out, "%s_sum %" PRIu64 ".%06" PRIu64 "\n", name, histogram->sum_us / 1000000,
              histogram->sum_us % 1000000);
    text_addf(out, "%s_count %" PRIu64 "\n", name, sum);
}
