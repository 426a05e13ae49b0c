/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of egress gateways and their clients, as values; their words are in egress.def. */
#pragma once

#define FAULT_TABLE "faults/egress.def"
#include "faults/declare.def"
