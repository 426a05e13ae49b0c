/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of BIRD and its sessions, as values; their words are in bgp.def. */
#pragma once

#define FAULT_TABLE "faults/bgp.def"
#include "faults/declare.def"
