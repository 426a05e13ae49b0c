/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of the kubeconfig, as values; their words are in kubeconfig.def. */
#pragma once

#define FAULT_TABLE "faults/kubeconfig.def"
#include "faults/declare.def"
