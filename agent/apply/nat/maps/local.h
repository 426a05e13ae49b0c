/* SPDX-License-Identifier: Apache-2.0 */
/* This node's addresses, as set by nat_datapath_set_local(). */
#pragma once

#include <stdbool.h>

#include "apply/nat/datapath.h"

bool nat_is_local(const struct nat_datapath *datapath, const struct ip *ip);
/* Sets the bit of an endpoint by its address. */
void nat_local_mark(struct nat_datapath *datapath, uint32_t id);
