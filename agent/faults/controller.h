/* SPDX-License-Identifier: Apache-2.0 */
/* What agent-controller decides once per cluster: faults, as values; their words are in
 * controller.def. */
#pragma once

#define FAULT_TABLE "faults/controller.def"
#include "faults/declare.def"
