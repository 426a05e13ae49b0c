/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of manifests, as values; their words are in manifests.def. */
#pragma once

#define FAULT_TABLE "faults/manifests.def"
#include "faults/declare.def"
