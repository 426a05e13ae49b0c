/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of requests to the agent, as values; their words are in requests.def. */
#pragma once

#define FAULT_TABLE "faults/requests.def"
#include "faults/declare.def"
