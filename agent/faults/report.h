/* SPDX-License-Identifier: Apache-2.0 */
/* What a node asks for and tells in a cluster: faults, as values; their words are in report.def. */
#pragma once

#define FAULT_TABLE "faults/report.def"
#include "faults/declare.def"
