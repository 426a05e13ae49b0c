/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of requests for blocks, as values; their words are in blocks.def. */
#pragma once

#define FAULT_TABLE "faults/blocks.def"
#include "faults/declare.def"
