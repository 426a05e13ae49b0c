/* SPDX-License-Identifier: Apache-2.0 */
/* Health checks: faults, as values; their words are in health.def. */
#pragma once

#define FAULT_TABLE "faults/health.def"
#include "faults/declare.def"
