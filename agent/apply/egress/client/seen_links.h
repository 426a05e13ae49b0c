/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces from which the clients' guard accepts packets: "egress_seen" of bpf/egress_abi.h. */
#pragma once

#include <stdint.h>

#include "apply/egress/datapath.h"

/* Makes the map hold these interfaces, by difference; `seen`: uint32_t by egress_seen_cmp().
 * Returns the number of changes, or -errno. */
int egress_datapath_see(struct egress_datapath *datapath, const struct sorted *seen);

int egress_seen_cmp(const void *a, const void *b);
/* Reads what an earlier agent has left. Returns 0 or -errno. */
int egress_seen_adopt(struct egress_datapath *datapath);
