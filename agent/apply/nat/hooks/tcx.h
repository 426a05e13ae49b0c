/* SPDX-License-Identifier: Apache-2.0 */
/* Programs attached by TCX links (Linux 6.6). Each returns 0 or -errno, unless it says otherwise.
 */
#pragma once

#include <stdbool.h>

#include "apply/nat/hooks/place.h"

/* True if this kernel has TCX; queries the kernel. */
bool tcx_supported(void);
/* Attaches before all other programs, or after that of the descriptor `leader`, unless that is
 * -1. The caller owns the link: it is detached when its descriptor is closed, unless it is
 * pinned. */
int tcx_attach(const struct nat_place *place, int program, int leader, int *ret_link);
/* Atomically replaces the program of the link. */
int tcx_swap(int link, int program);
/* Reads the state of the link's program in this place. The program of id `leader` may be before
 * it. */
void tcx_look(int link, const struct nat_place *place, uint32_t leader,
              struct nat_place_state *ret_state);
/* The id of the link's program if it is attached in this place now; 0: it is not. */
uint32_t tcx_program(int link, const struct nat_place *place);
int tcx_detach(int link);
