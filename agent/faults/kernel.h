/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of what is ours in the kernel, as values; their words are in kernel.def. */
#pragma once

#define FAULT_TABLE "faults/kernel.def"
#include "faults/declare.def"
