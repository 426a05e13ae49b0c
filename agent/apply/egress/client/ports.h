/* SPDX-License-Identifier: Apache-2.0 */
/* The bridges of which pods' interfaces are ports: "egress_bridges" of bpf/egress_abi.h. */
#pragma once

#include "apply/egress/datapath.h"

/* Makes the map hold these ports, by difference; `ports`: struct egress_port by
 * egress_port_cmp(). Returns the number of changes, or -errno. */
int egress_datapath_set_ports(struct egress_datapath *datapath, const struct sorted *ports);
/* Reads what an earlier agent has left. Returns 0 or -errno. */
int egress_ports_adopt(struct egress_datapath *datapath);
