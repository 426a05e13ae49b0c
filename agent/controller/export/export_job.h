/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job that exports Services and nodes to load balancers outside the cluster. A row of jobs.c.
 */
#pragma once

#include "controller/job.h"

extern const struct job_ops export_job_ops;
