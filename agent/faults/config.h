/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as a whole: faults, as values; their words are in config.def. */
#pragma once

#define FAULT_TABLE "faults/config.def"
#include "faults/declare.def"
