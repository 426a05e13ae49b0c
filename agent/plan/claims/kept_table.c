// SPDX-License-Identifier: Apache-2.0
/*
 * See kept_table.h. The kernel reports the remaining whole seconds, rounded up: an address is
 * removed within a second after its until_ms. It is renewed if that number increases, so that a
 * renewal that would gain less than a second is omitted.
 */
#include "plan/claims/kept_table.h"

#include <errno.h>

#include "base/clock.h"
#include "base/macro.h"

int kept_address_cmp(const void *a, const void *b)
{
    const struct kept_address *left = a, *right = b;
    int r = CMP(left->ifindex, right->ifindex);
    return r ? r : ip_cmp(&left->ip, &right->ip);
}

static uint32_t lifetime_of(const struct kept_address *wanted, int64_t now_ms)
{
    int64_t left_ms = wanted->until_ms - now_ms;
    return left_ms < SECOND_MS ? 0 : (uint32_t)MIN(left_ms / SECOND_MS, (int64_t)INT32_MAX);
}

static int remove_unwanted(const struct sorted *there, const struct sorted *wanted, int64_t now_ms,
                           kept_op_list *ops)
{
    sorted_each(const struct kept_address, address, there) {
        const struct kept_address *desired = sorted_find(wanted, address);
        if (desired && lifetime_of(desired, now_ms) > 0)
            continue;
        if (vec_push(ops, (struct kept_op){ KEPT_REMOVE, *address, 0 }) < 0)
            return -ENOMEM;
    }
    return 0;
}

static bool is_due(const struct kept_address *there, const struct kept_address *desired,
                   uint32_t lifetime_s, int64_t now_ms)
{
    int64_t fresh_ms = now_ms + lifetime_s * SECOND_MS;
    return fresh_ms - there->until_ms >= 2 * SECOND_MS || there->until_ms > desired->until_ms;
}

int kept_diff(const struct sorted *there, const struct sorted *wanted, int64_t now_ms,
              kept_op_list *ops)
{
    int r = remove_unwanted(there, wanted, now_ms, ops);
    if (r < 0)
        return r;
    sorted_each(const struct kept_address, desired, wanted) {
        uint32_t lifetime_s = lifetime_of(desired, now_ms);
        const struct kept_address *address = sorted_find(there, desired);
        if (lifetime_s == 0 || (address && !is_due(address, desired, lifetime_s, now_ms)))
            continue;
        enum kept_op_kind kind = address ? KEPT_RENEW : KEPT_ADD;
        if (vec_push(ops, (struct kept_op){ kind, *desired, lifetime_s }) < 0)
            return -ENOMEM;
    }
    return 0;
}
