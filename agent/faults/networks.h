/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of networks that two have, as values; their words are in networks.def. */
#pragma once

#define FAULT_TABLE "faults/networks.def"
#include "faults/declare.def"
