/* SPDX-License-Identifier: Apache-2.0 */
/* Service NAT: faults, as values; their words are in nat.def. */
#pragma once

#define FAULT_TABLE "faults/nat.def"
#include "faults/declare.def"
