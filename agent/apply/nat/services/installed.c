// SPDX-License-Identifier: Apache-2.0
/*
 * The memory of installed Services: the order of its lists, its lookups, its end. adopt.c fills it
 * from the maps, rows.c keeps it consistent with them. See installed.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/services/installed.h"
#include "base/macro.h"

int nat_entry_cmp(const void *a, const void *b)
{
    const struct nat_entry *left = a, *right = b;
    return memcmp(&left->key, &right->key, sizeof(left->key));
}

int nat_id_cmp(const void *a, const void *b)
{
    return CMP(*(const uint32_t *)a, *(const uint32_t *)b);
}

int nat_word_cmp(const void *a, const void *b)
{
    return CMP(*(const uint64_t *)a, *(const uint64_t *)b);
}

int nat_stored_cmp(const void *a, const void *b)
{
    const struct nat_stored *left = a, *right = b;
    int r = nat_endpoint_cmp(&left->endpoint, &right->endpoint);
    return r ? r : CMP(left->protocol, right->protocol);
}

int nat_range_cmp(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct nat_range_key));
}

int nat_installed_cmp(const void *a, const void *b)
{
    const struct nat_installed *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

struct nat_installed *nat_installed_new(const char *name)
{
    CLEANUP(nat_installed_freep) struct nat_installed *installed = calloc(1, sizeof(*installed));
    if (!installed)
        return NULL;
    installed->name = strdup(name);
    return installed->name ? TAKE_PTR(installed) : NULL;
}

void nat_installed_free(struct nat_installed *installed)
{
    if (!installed)
        return;
    vec_each(struct nat_installed_port, port, &installed->ports)
        vec_done(&port->endpoints);
    vec_done(&installed->ports);
    vec_done(&installed->endpoints);
    vec_done(&installed->sets);
    vec_done(&installed->entries);
    for (int bank = 0; bank < NAT_BANKS; bank++)
        vec_done(&installed->ranges[bank]);
    free(installed->name);
    free(installed);
}

struct nat_installed *nat_installed_find(const struct nat_datapath *datapath, const char *name)
{
    struct nat_installed sought = { .name = (char *)name }, *key = &sought;
    struct nat_installed **found = sorted_find(&datapath->installed, &key);
    return found ? *found : NULL;
}

struct nat_installed *nat_installed_by_id(const struct nat_datapath *datapath, uint32_t id)
{
    return id < datapath->maps[NAT_MAP_SERVICES].entries ? datapath->by_id[id] : NULL;
}

int nat_name_of(const char *namespace, const char *name, char buffer[static NAT_NAME_MAX])
{
    int length = snprintf(buffer, NAT_NAME_MAX, "%s/%s", namespace, name);
    return length < NAT_NAME_MAX ? 0 : -ENAMETOOLONG;
}
