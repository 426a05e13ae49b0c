/* SPDX-License-Identifier: Apache-2.0 */
/* Exports to Consul, of the controller and of nodes: faults, as values; their words are in
 * export.def. */
#pragma once

#define FAULT_TABLE "faults/export.def"
#include "faults/declare.def"
