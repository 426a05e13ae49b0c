/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The egress job: creates the gateways of Egresses, as Coil's coil-egress-controller does, and in
 * its place.
 */
#pragma once

#include "controller/job.h"

extern const struct job_ops egress_job_ops;
