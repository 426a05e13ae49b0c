/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces that the clients' guard lets packets come from: "egress_seen" of bpf/egress_abi.h. */
#pragma once

#include <stdint.h>

#include "apply/egress/datapath.h"

/* Makes the interfaces those of the map, by difference; `seen`: uint32_t by egress_seen_cmp().
 * Returns how many were changed, or -errno. */
int egress_datapath_see(struct egress_datapath *datapath, const struct sorted *seen);

int egress_seen_cmp(const void *a, const void *b);
/* What an earlier agent has left. Returns 0 or -errno. */
int egress_seen_adopt(struct egress_datapath *datapath);
