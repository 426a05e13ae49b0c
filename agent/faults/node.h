/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of this node among the Nodes, as values; their words are in node.def. */
#pragma once

#define FAULT_TABLE "faults/node.def"
#include "faults/declare.def"
