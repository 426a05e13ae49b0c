/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps the kernel's tables into new sorted arrays. Each function returns 0, or -errno with the
 * output unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/mirror/scope.h"
#include "apply/netlink/nl.h"
#include "base/sorted.h"

/*
 * The scope's routes: struct route by route_cmp(). `*ret_twins` is true if the kernel has two
 * routes that are equal for us.
 */
int dump_routes(struct nl_socket *socket, const struct kernel_scope *scope,
                struct sorted *ret_routes, bool *ret_twins);
/* struct rule by rule_cmp(): all but the three standard ones. */
int dump_rules(struct nl_socket *socket, struct sorted *ret_rules);
/*
 * The addresses of an interface (0: of all): as struct prefix by prefix_cmp(), with their networks;
 * the networks alone, but for those of a single address; and as struct link_address by
 * link_address_cmp(). An interface that does not exist has none.
 */
int dump_addresses(struct nl_socket *socket, uint32_t ifindex, struct sorted *ret_prefixes,
                   struct sorted *ret_networks, struct sorted *ret_addresses);
