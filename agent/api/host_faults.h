/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of this host as a whole that lie on the path of what is served at an address. */
#pragma once

#include "api/document.h"
#include "api/view.h"

/* Whole, as in a FaultList: of what comes from outside to the address. */
void write_host_faults(struct json *json, const struct api_state *state, const struct ip *address);
/* Their places alone, of one address among many; none unless `is_served`. Not in a plan. */
void write_host_fault_places(struct json *json, const struct api_state *state,
                             const struct ip *address, bool is_served);
