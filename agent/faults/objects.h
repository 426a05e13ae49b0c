/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of objects of whatever kind, as they are written; their words are in objects.def. */
#pragma once

#define FAULT_TABLE "faults/objects.def"
#include "faults/declare.def"
