/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of LoadBalancer addresses from pools, as values; their words are in pools.def. */
#pragma once

#define FAULT_TABLE "faults/pools.def"
#include "faults/declare.def"
