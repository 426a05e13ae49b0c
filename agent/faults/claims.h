/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of claimed addresses, as values; their words are in claims.def. */
#pragma once

#define FAULT_TABLE "faults/claims.def"
#include "faults/declare.def"
