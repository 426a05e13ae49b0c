/* SPDX-License-Identifier: Apache-2.0 */
/* The job that allocates addresses from pools to Services of type LoadBalancer; address_job.c says
 * how. */
#pragma once

#include "controller/job.h"

extern const struct job_ops address_job_ops;
