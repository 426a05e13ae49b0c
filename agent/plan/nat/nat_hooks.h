/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where NAT's programs are to be attached, and the settings of svc0 and of masquerading that depend
 * on the interfaces. Pure, like routes.h; the interfaces are values of link_table.h.
 */
#pragma once

#include "base/fault.h"
#include "config/config.h"
#include "plan/facts.h"
#include "plan/link_table.h"
#include "plan/nat/nat_roles.h"
#include "plan/nat/nat_table.h"

/*
 * The attachments: uplinks and pods' interfaces, configured or detected (nat_roles.h), the
 * loopback, svc0 (if it exists and is ours). Configured interfaces that can't be served, missing
 * uplinks, and pods whose interfaces are unknown, are added to `faults`. Returns 0 or -ENOMEM.
 */
int plan_nat_hooks(const struct link_facts *facts, nat_attachment_list *ret_wanted,
                   struct faults *faults);

/* svc0's MTU: the largest MTU of a supported uplink; 1500 without one. */
uint32_t plan_svc0_mtu(const struct link_facts *facts);

/*
 * The routing of the node's own packets (struct nat_svc0 of facts.h) by svc0 `ifindex`: the source
 * is the primary address of the Node object if this node has it, else the default route's source.
 * Of the facts it reads store, config and local_prefixes; without the latter the address is not
 * checked.
 */
struct nat_svc0 plan_nat_svc0(const struct node_facts *facts, uint32_t ifindex,
                              const struct default_sources *defaults);

/* The source addresses of masqueraded packets on an interface, and nat_interface_value.back. */
struct nat_interface {
    uint32_t ifindex, back;
    struct ip v4, v6; /* IP_NONE: none */
};
typedef VEC(struct nat_interface) nat_interface_list; /* sorted by ifindex */

/*
 * Of every interface: its first global address, as in the kernel's masquerading, or the default
 * route's source if the interface has it; else the node's address (`leads`, may be NULL: none).
 * `addresses`: struct link_address. Returns 0 or -ENOMEM.
 */
int plan_nat_interfaces(const struct sorted *links, const struct sorted *addresses,
                        const struct default_sources *defaults, const struct nat_svc0 *leads,
                        nat_interface_list *ret_interfaces);

/*
 * Sets the interface by which routes lead back to the senders behind each interface, for those
 * where programs are `wanted`. Only behind veths and taps the sender is known: behind other
 * interfaces, and behind a bridge with other ports, there are also hosts of the fabric, whose pods'
 * packets may arrive by an uplink.
 */
void plan_nat_backs(const struct sorted *links, const nat_attachment_list *wanted,
                    nat_interface_list *interfaces);
