/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of exports by DogStatsD: each metric of kube-service-exporter that a controller has,
 * under its name and with its tags (agentd sends consul.service.*, report/consul_keeper.h).
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "config/export_config.h"
#include "plan/export/export_diff.h"
#include "status/export_status.h"

/* What an operation does to its document. */
static inline enum export_deed export_deed_of(const struct export_op *op)
{
    if (op->remove)
        return DEED_DELETE;
    return op->index == 0 ? DEED_CREATE : DEED_UPDATE;
}

struct export_statsd;

/* Sends the metric of the start. A fault says why nothing can be sent. Returns 0 or -ENOMEM. Both
 * are borrowed. */
int export_statsd_new(const struct export_config *config, const struct export_metrics *metrics,
                      struct export_statsd **ret_statsd, struct faults *faults);

/*
 * Sends the metrics of the end, which began at `end_ms` (monotonic) if the controller led until
 * then; 0: it did not.
 */
void export_statsd_close(struct export_statsd *statsd, int64_t end_ms);

/*
 * A plan was made, which includes the changes of `waiting_...` of the metrics. `plan_ms`: its
 * duration.
 */
void export_statsd_planned(struct export_statsd *statsd, const struct export_plan *plan,
                           int64_t plan_ms);

/* A document of a Service was written or removed, or that has failed. */
void export_statsd_told(struct export_statsd *statsd, const struct export_plan *plan,
                        const struct export_op *op, bool done);

/* Sends all counters by what was added since they were sent last. */
void export_statsd_counts(struct export_statsd *statsd);
