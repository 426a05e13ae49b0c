/* SPDX-License-Identifier: Apache-2.0 */
/* The bridges that pods' interfaces are ports of: "egress_bridges" of bpf/egress_abi.h. */
#pragma once

#include "apply/egress/datapath.h"

/* Makes the ports those of the map, by difference; `ports`: struct egress_port by
 * egress_port_cmp(). Returns how many were changed, or -errno. */
int egress_datapath_set_ports(struct egress_datapath *datapath, const struct sorted *ports);
/* What an earlier agent has left. Returns 0 or -errno. */
int egress_ports_adopt(struct egress_datapath *datapath);
