/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where NAT's programs shall be attached, and what follows from the interfaces for svc0 and for
 * masquerading. Pure, like routes.h; the interfaces are link_table.h's values.
 */
#pragma once

#include "base/fault.h"
#include "config/config.h"
#include "plan/facts.h"
#include "plan/link_table.h"
#include "plan/nat/nat_roles.h"
#include "plan/nat/nat_table.h"

/*
 * The attachments: uplinks and pods, named or found (nat_roles.h), the loopback, svc0 (if it is
 * there and ours). What is named and can't be served, uplinks that are not there, and pods of which
 * nobody says where they are, go to `faults`. Returns 0 or -ENOMEM.
 */
int plan_nat_hooks(const struct link_facts *facts, nat_attachment_list *ret_wanted,
                   struct faults *faults);

/* svc0's MTU: the largest of an uplink that can be served; 1500 without one. */
uint32_t plan_svc0_mtu(const struct link_facts *facts);

/*
 * The leads of the node's own packets (struct nat_svc0 of facts.h) by svc0 `ifindex`: from the
 * primary address of the Node object, if it is one of this node's; else from the default route's.
 * Of the facts store, config and local_prefixes are read; without the latter any is this node's.
 */
struct nat_svc0 plan_nat_svc0(const struct node_facts *facts, uint32_t ifindex,
                              const struct default_sources *defaults);

/* The source addresses of what leaves an interface masqueraded, and nat_interface_value.back. */
struct nat_interface {
    uint32_t ifindex, back;
    struct ip v4, v6; /* IP_NONE: none */
};
typedef VEC(struct nat_interface) nat_interface_list; /* sorted by ifindex */

/*
 * Of every interface: its first global address, as the kernel's masquerading takes it, or the
 * default route's source where that stands on it; else the node's (`leads`, may be NULL: none).
 * `addresses`: struct link_address. Returns 0 or -ENOMEM.
 */
int plan_nat_interfaces(const struct sorted *links, const struct sorted *addresses,
                        const struct default_sources *defaults, const struct nat_svc0 *leads,
                        nat_interface_list *ret_interfaces);

/*
 * Sets by which interface routes lead back to who comes by each of them, as far as programs are
 * `wanted` there. Only of veths and taps is the sender known: behind others, and behind a bridge
 * with other ports, are hosts of the fabric as well, whose pods may come by an uplink.
 */
void plan_nat_backs(const struct sorted *links, const nat_attachment_list *wanted,
                    nat_interface_list *interfaces);
