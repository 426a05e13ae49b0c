/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that the kernel keeps for a while: what is there and what is wanted as plain values,
 * and the difference. Each is a host address of an interface whose lifetime ends by itself, so that
 * nobody has it longer than it may, whatever has become of the agent.
 *
 * What is there is read anew before each comparison. So a machine that was suspended, whose kernel
 * did not count that time, is found to have its addresses for too long.
 *
 * Times are of CLOCK_BOOTTIME. Nothing here touches the kernel; apply/segment/kept.h does.
 */
#pragma once

#include <stdint.h>

#include "base/net/ip.h"
#include "base/sorted.h"
#include "base/vec.h"

struct kept_address {
    uint32_t ifindex;
    struct ip ip;
    int64_t until_ms; /* wanted: when it has to be gone. There: before which it will not go */
};

typedef VEC(struct kept_address) kept_list;

/* Order by interface and address: for struct sorted. */
int kept_address_cmp(const void *a, const void *b);

enum kept_op_kind {
    KEPT_ADD,
    KEPT_RENEW,
    KEPT_REMOVE,
};

struct kept_op {
    enum kept_op_kind kind;
    struct kept_address address; /* as wanted; KEPT_REMOVE: as it is there */
    uint32_t lifetime_s;         /* 1 or more, whole seconds that end by until_ms; KEPT_REMOVE: 0 */
};

typedef VEC(struct kept_op) kept_op_list;

/*
 * From what is there to what is wanted (struct kept_address by kept_address_cmp()), removals first:
 * an address that moves to another interface is never on both. One whose time leaves no whole
 * second is not wanted. One that is there is renewed if it gains a second by that, or has one too
 * many. The list is the caller's. Returns 0 or -ENOMEM.
 */
int kept_diff(const struct sorted *there, const struct sorted *wanted, int64_t now_ms,
              kept_op_list *ops);
