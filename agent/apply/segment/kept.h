/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that the kernel keeps until their time is over: read, and written as kept_diff() wants
 * it (plan/claims/kept_table.h).
 *
 * Which are ours is said by the address' protocol number (IFA_PROTO, Linux 5.18; base/ours.h): one
 * of the same value that somebody else made is foreign, and KEPT_ADD and KEPT_REMOVE leave it
 * alone. KEPT_RENEW makes it ours: for one that was, which a replacement without a number has
 * changed.
 *
 * They are made so that nobody takes one for the node's own: a host address without a route of its
 * own, and deprecated from the start, so that the node's connections do not begin from it where
 * they have a choice (an IPv6 /128 would win by its length otherwise). It is answered for all the
 * same. Whether somebody else has it is found before it is made, so that IPv6 makes no trial of its
 * own, which takes a second.
 */
#pragma once

#include "apply/netlink/nl.h"
#include "apply/op_result.h"
#include "base/sorted.h"
#include "plan/claims/kept_table.h"

/*
 * What is ours on all interfaces: struct kept_address by kept_address_cmp(), sorted_done() by the
 * caller. `now_ms`: CLOCK_BOOTTIME. Returns 0 or -errno with the output untouched.
 */
int kept_read(struct nl_socket *socket, int64_t now_ms, struct sorted *ret_kept);

/*
 * Carries out operations in order; a refused one does not stop the others. -EEXIST: somebody else
 * has made this address here. That one to be removed is gone already is success, and so is that its
 * interface is. `results` has room for `count`. Returns 0, or -errno when the socket failed.
 */
int kept_apply(struct nl_socket *socket, const struct kept_op *ops, size_t count,
               struct op_result *results);
