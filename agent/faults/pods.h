/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of pods' addresses and interfaces, as values; their words are in pods.def. */
#pragma once

#define FAULT_TABLE "faults/pods.def"
#include "faults/declare.def"
