/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of all gateways: "egress_doors" of bpf/egress_abi.h. */
#pragma once

#include "apply/egress/datapath.h"

int egress_door_cmp(const void *a, const void *b); /* of struct ip */
/* Makes the map hold the gateways of these sets (struct egress_set *), by difference. Returns 0
 * or -errno. */
int egress_doors_write(struct egress_datapath *datapath, const struct sorted *sets);
/* Reads what an earlier agent has left. Returns 0 or -errno. */
int egress_doors_adopt(struct egress_datapath *datapath);
