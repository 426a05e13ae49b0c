/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of JSON and YAML as text, as values; their words are in syntax.def. */
#pragma once

#define FAULT_TABLE "faults/syntax.def"
#include "faults/declare.def"
