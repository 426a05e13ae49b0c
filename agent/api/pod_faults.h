/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that concern one pod, whatever their place names. */
#pragma once

#include "api/document.h"
#include "api/view.h"
#include "model/pod.h"

/* Whole, as in a FaultList, as "faults". */
void write_pod_faults(struct json *json, const struct api_state *state, const struct pod *pod);
