/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that the kernel keeps until their lifetime ends: reads them, and writes them as
 * kept_diff() requires (plan/claims/kept_table.h).
 *
 * Ours have our protocol number (IFA_PROTO, Linux 5.18; base/ours.h): an address of the same value
 * that another program added is foreign, and KEPT_ADD and KEPT_REMOVE do not change it. KEPT_RENEW
 * makes an address ours: for one that was ours, until a replacement without a number changed it.
 *
 * They are configured so that no program mistakes one for the node's own address: a host address
 * without a route, and deprecated from the start, so that the node's connections do not use it as a
 * source where there is a choice (otherwise an IPv6 /128 would be preferred for its length). The
 * kernel still answers ARP and neighbour discovery for it. Whether another host has the address is
 * checked before it is added, so that IPv6 skips its own duplicate address detection, which takes a
 * second.
 */
#pragma once

#include "apply/netlink/nl.h"
#include "apply/op_result.h"
#include "base/sorted.h"
#include "plan/claims/kept_table.h"

/*
 * Our addresses on all interfaces: struct kept_address by kept_address_cmp(); the caller frees them
 * by sorted_done(). `now_ms`: CLOCK_BOOTTIME. Returns 0 or -errno with the output unchanged.
 */
int kept_read(struct nl_socket *socket, int64_t now_ms, struct sorted *ret_kept);

/*
 * Executes operations in order; a refused operation does not stop the others. -EEXIST: another
 * program has added this address here. Removing an address that does not exist is success, also if
 * its interface is gone. `results` has room for `count`. Returns 0, or -errno when the socket
 * failed.
 */
int kept_apply(struct nl_socket *socket, const struct kept_op *ops, size_t count,
               struct op_result *results);
