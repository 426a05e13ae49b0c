// SPDX-License-Identifier: Apache-2.0
/* Openings as plain values: order, difference, addresses; see opening_table.h. */
#include "plan/firewall/opening_table.h"

#include <errno.h>

#include "base/macro.h"

int opening_cmp(const void *a, const void *b)
{
    const struct opening *left = a, *right = b;
    int r = ip_cmp(&left->ip, &right->ip);
    r = r ? r : CMP(left->protocol, right->protocol);
    return r ? r : CMP(left->port, right->port);
}

int openings_diff(const opening_list *there, const opening_list *wanted, opening_list *ret_come,
                  opening_list *ret_go)
{
    for (size_t i = 0, j = 0; i < there->count || j < wanted->count;) {
        int order = i == there->count    ? 1
                    : j == wanted->count ? -1
                                         : opening_cmp(&there->items[i], &wanted->items[j]);
        int r = order == 0  ? 0
                : order < 0 ? vec_push(ret_go, there->items[i])
                            : vec_push(ret_come, wanted->items[j]);
        if (r < 0)
            return r;
        i += order <= 0;
        j += order >= 0;
    }
    return 0;
}

int openings_addresses(const opening_list *list, ip_list *ret_addresses)
{
    vec_each(const struct opening, opening, list) {
        const size_t count = ret_addresses->count;
        if (count && ip_equal(&ret_addresses->items[count - 1], &opening->ip))
            continue;
        if (vec_push(ret_addresses, opening->ip) < 0)
            return -ENOMEM;
    }
    return 0;
}
