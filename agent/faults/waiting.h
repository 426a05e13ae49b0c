/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of Services that wait or lack something, as values; their words are in waiting.def. */
#pragma once

#define FAULT_TABLE "faults/waiting.def"
#include "faults/declare.def"
