/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses with a lifetime in the kernel: the existing and the wanted ones as plain values, and
 * the difference. Each is a host address of an interface that the kernel removes when its lifetime
 * ends, so that no node has it longer than allowed, even if the agent has died.
 *
 * The existing addresses are read again before each comparison. So after a suspend, which the
 * kernel does not count as lifetime, addresses with too long a lifetime are detected.
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
    int64_t until_ms; /* wanted: when it must be removed. Existing: the kernel does not remove it
                         before */
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
    struct kept_address address; /* as wanted; KEPT_REMOVE: the existing one */
    uint32_t lifetime_s;         /* 1 or more, whole seconds that end at until_ms at the latest;
                                    KEPT_REMOVE: 0 */
};

typedef VEC(struct kept_op) kept_op_list;

/*
 * The changes from the existing to the wanted addresses (struct kept_address by
 * kept_address_cmp()), removals first, so that an address that moves to another interface is never
 * on both. An address with less than a whole second left is not wanted. An existing one is renewed
 * if it gains at least a second, or has a second too many. The list is the caller's. Returns 0 or
 * -ENOMEM.
 */
int kept_diff(const struct sorted *there, const struct sorted *wanted, int64_t now_ms,
              kept_op_list *ops);
