/* SPDX-License-Identifier: Apache-2.0 */
/* This node's own addresses, as nat_plane_set_local() was told them. */
#pragma once

#include <stdbool.h>

#include "apply/nat/plane.h"

bool nat_is_local(const struct nat_plane *plane, const struct ip *ip);
/* Sets the bit of an endpoint by its address. */
void nat_local_mark(struct nat_plane *plane, uint32_t id);
