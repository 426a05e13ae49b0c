/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what an earlier agent has left in the maps of egress. */
#pragma once

struct egress_plane;

/* Reads what an earlier agent has left in the maps. Returns 0 or -errno. */
int egress_adopt(struct egress_plane *plane);
