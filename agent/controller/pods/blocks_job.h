/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of pools and blocks: allocates the blocks of pod addresses that nodes request, as Coil's
 * coil-ipam-controller does, and in its place.
 */
#pragma once

#include "controller/job.h"

extern const struct job_ops blocks_job_ops;
