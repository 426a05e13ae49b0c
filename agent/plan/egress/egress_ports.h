/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bridges of pods, whose ports have the client programs: a pod's packets are processed only at the
 * pod's port, where they come in.
 */
#pragma once

#include "plan/link_table.h"
#include "plan/nat/nat_table.h"

/*
 * Puts into `ports` (struct egress_port by egress_port_cmp()) the ports by which pods' packets come
 * in, and the interfaces by which this node is a host in a VLAN of their bridges: routes to the
 * pods lead there. `hooks`: NAT's attachments. Returns 0 or -ENOMEM.
 */
int plan_egress_ports(const struct sorted *links, const nat_attachment_list *hooks,
                      struct sorted *ports);

/*
 * Whether pods' packets that come in by an interface were already processed at a port of `ports`,
 * or are this node's own: those of an interface in a VLAN, and of the port that is its other end.
 */
bool plan_egress_is_seen(const struct sorted *links, const struct sorted *ports, uint32_t ifindex);
