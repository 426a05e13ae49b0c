// SPDX-License-Identifier: Apache-2.0
/* The sort order of the entries in the maps of egress; see installed.h. */
#include "apply/egress/installed.h"

#include <string.h>

#include "base/macro.h"

int egress_installed_set_cmp(const void *a, const void *b)
{
    const struct egress_installed_set *left = a, *right = b;
    int r = strcmp(left->egress, right->egress);
    return r ? r : CMP(left->family, right->family);
}

int egress_installed_policy_cmp(const void *a, const void *b)
{
    const struct egress_installed_policy *left = a, *right = b;
    return egress_policy_key_cmp(&left->key, &right->key);
}

int egress_route_cmp(const void *a, const void *b)
{
    const struct egress_route *left = a, *right = b;
    int r = CMP(left->policy, right->policy);
    return r ? r : prefix_cmp(&left->prefix, &right->prefix);
}

int egress_installed_pod_cmp(const void *a, const void *b)
{
    const struct egress_installed_pod *left = a, *right = b;
    return ip_cmp(&left->address, &right->address);
}
