/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of what is read as JSON or YAML, as values; their words are in documents.def. */
#pragma once

#define FAULT_TABLE "faults/documents.def"
#include "faults/declare.def"
