/* SPDX-License-Identifier: Apache-2.0 */
/* The firewall of the host: faults, as values; their words are in firewall.def. */
#pragma once

#define FAULT_TABLE "faults/firewall.def"
#include "faults/declare.def"
