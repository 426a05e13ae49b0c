/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of the Kubernetes API, as values; their words are in api.def. */
#pragma once

#define FAULT_TABLE "faults/api.def"
#include "faults/declare.def"
