// SPDX-License-Identifier: Apache-2.0
/* Selects among ports with an address; see egress_home.h. */
#include "plan/egress/egress_home.h"

#include "base/macro.h"

int port_address_cmp(const void *a, const void *b)
{
    const struct port_address *left = a, *right = b;
    int r = ip_cmp(&left->address, &right->address);
    return r ? r : CMP(left->port, right->port);
}

/* The n-th port of an address; NULL: there are no more. */
static const struct port_address *nth(const struct sorted *found, const struct ip *address,
                                      size_t n)
{
    const struct port_address first = { .address = *address };
    size_t at = sorted_lower_bound(found, &first) + n;
    const struct port_address *it = at < found->count ? sorted_at(found, at) : NULL;
    return it && ip_equal(&it->address, address) ? it : NULL;
}

size_t plan_home_count(const struct sorted *found, const struct ip *address)
{
    size_t count = 0;
    while (nth(found, address, count))
        count++;
    return count;
}

uint32_t plan_home(const struct sorted *found, const struct ip *address, uint32_t before)
{
    const struct port_address was = { *address, before };
    if (before && sorted_find(found, &was))
        return before;
    const struct port_address *first = nth(found, address, 0);
    return first && !nth(found, address, 1) ? first->port : before;
}
