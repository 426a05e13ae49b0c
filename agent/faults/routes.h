/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of routes and rules, as values; their words are in routes.def. */
#pragma once

#define FAULT_TABLE "faults/routes.def"
#include "faults/declare.def"
