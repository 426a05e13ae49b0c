/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of addresses of Services, as values; their words are in addresses.def. */
#pragma once

#define FAULT_TABLE "faults/addresses.def"
#include "faults/declare.def"
