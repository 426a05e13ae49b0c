/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of objects of single kinds, as they are written; their words are in kinds.def. */
#pragma once

#define FAULT_TABLE "faults/kinds.def"
#include "faults/declare.def"
