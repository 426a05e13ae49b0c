/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics by DogStatsD, under the names that kube-service-exporter gives them: a datagram each, to
 * an address of the configuration. Nobody waits for it, and what gets lost is lost.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "config/export_config.h"

struct export_statsd;

/* A statsd that sends nothing where no address is set, or a fault says why it can't. Returns 0 or
 * -ENOMEM. The configuration is borrowed. */
int export_statsd_new(const struct export_config *config, struct export_statsd **ret_statsd,
                      struct faults *faults);
void export_statsd_free(struct export_statsd *statsd);
DEFINE_CLEANUP(struct export_statsd *, export_statsd_free);

/* "kube-service-exporter.NAME:VALUE|c|#TAGS"; nothing is sent for a count of 0. `tags`:
 * "method:put", or "". */
void export_statsd_count(struct export_statsd *statsd, const char *name, uint64_t value,
                         const char *tags);
void export_statsd_gauge(struct export_statsd *statsd, const char *name, uint64_t value);
void export_statsd_time(struct export_statsd *statsd, const char *name, uint64_t ms,
                        const char *tags);
