// SPDX-License-Identifier: Apache-2.0
/* What is remembered of each Service, and the order of its lists. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/plane_parts.h"

int nat_entry_cmp(const void *a, const void *b)
{
    const struct nat_entry *left = a, *right = b;
    return memcmp(&left->key, &right->key, sizeof(left->key));
}

int nat_range_cmp(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct nat_range_key));
}

int nat_held_cmp(const void *a, const void *b)
{
    const struct nat_held *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

void nat_held_free(struct nat_held *held)
{
    if (!held)
        return;
    vec_each(struct nat_held_port, port, &held->ports)
        vec_done(&port->endpoints);
    vec_done(&held->ports);
    vec_done(&held->entries);
    for (int bank = 0; bank < NAT_BANKS; bank++)
        vec_done(&held->ranges[bank]);
    free(held->name);
    free(held);
}

struct nat_held *nat_held_find(const struct nat_plane *plane, const char *name)
{
    struct nat_held sought = { .name = (char *)name }, *key = &sought;
    struct nat_held **found = sorted_find(&plane->held, &key);
    return found ? *found : NULL;
}

int nat_name_of(const char *namespace, const char *name, char buffer[static NAT_NAME_MAX])
{
    int length = snprintf(buffer, NAT_NAME_MAX, "%s/%s", namespace, name);
    return length < NAT_NAME_MAX ? 0 : -ENAMETOOLONG;
}
