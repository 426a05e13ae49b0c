/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of objects that are deleted and kept, as values; their words are in deletions.def. */
#pragma once

#define FAULT_TABLE "faults/deletions.def"
#include "faults/declare.def"
