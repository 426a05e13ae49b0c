/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's tables, read from nothing into fresh sorted arrays. Each returns 0, or -errno with
 * the output untouched.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "base/cleanup.h"
#include "base/sorted.h"

DEFINE_CLEANUP(struct sorted *, sorted_done);

/*
 * struct route by route_cmp(): the export and the guard table, and our guards in main. `*ret_twins`
 * is true if the kernel has two routes that are one for us.
 */
int dump_routes(struct nl_socket *socket, uint32_t export_table, struct sorted *ret_routes,
                bool *ret_twins);
/* struct rule by rule_cmp(): ours and those that look up one of our tables. */
int dump_rules(struct nl_socket *socket, uint32_t export_table, struct sorted *ret_rules);
/*
 * Interface addresses: as struct prefix by prefix_cmp(), with their networks; and as
 * struct link_address by link_address_cmp().
 */
int dump_addresses(struct nl_socket *socket, struct sorted *ret_prefixes,
                   struct sorted *ret_addresses);
