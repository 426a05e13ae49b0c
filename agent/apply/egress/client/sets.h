/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of gateways in the maps of egress. */
#pragma once

#include <stdint.h>

#include "base/sorted.h"

struct egress_datapath;

/* Writes the wanted sets; sets that are no longer wanted are kept. Adds to `ret_written`. */
int egress_sets_write(struct egress_datapath *datapath, const struct sorted *sets,
                      int *ret_written);
/* Removes the sets that are not among the wanted ones. Returns their number, or -errno. */
int egress_sets_drop(struct egress_datapath *datapath, const struct sorted *sets);
/* Returns the id of a set; 0: there is none. */
uint32_t egress_set_id(const struct egress_datapath *datapath, const char *egress, uint8_t family);
