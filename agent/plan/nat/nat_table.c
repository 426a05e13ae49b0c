// SPDX-License-Identifier: Apache-2.0
/*
 * The values of nat_table.h: their order, and how a row is freed.
 *
 * Every room that reads or writes service NAT compares rows, frontends, endpoints and attachments
 * by these functions, so that a sorted list of one is a sorted list for all.
 */
#include "plan/nat/nat_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"

int nat_endpoint_cmp(const void *a, const void *b)
{
    const struct nat_endpoint *left = a, *right = b;
    int r = ip_cmp(&left->ip, &right->ip);
    return r ? r : CMP(left->port, right->port);
}

int nat_frontend_cmp(const void *a, const void *b)
{
    const struct nat_frontend *left = a, *right = b;
    int r = ip_cmp(&left->address, &right->address);
    r = r ? r : CMP(left->protocol, right->protocol);
    return r ? r : CMP(left->port, right->port);
}

int nat_row_cmp(const void *a, const void *b)
{
    const struct nat_row *const *left = a, *const *right = b;
    int r = strcmp((*left)->namespace, (*right)->namespace);
    return r ? r : strcmp((*left)->name, (*right)->name);
}

void nat_family_done(struct nat_family *family)
{
    vec_each(struct nat_port, port, &family->ports) {
        free(port->name);
        for (size_t set = 0; set < NAT_SETS; set++)
            vec_done(&port->sets[set]);
        vec_done(&port->serving);
    }
    vec_done(&family->ports);
    vec_done(&family->frontends);
    vec_done(&family->cluster_ips);
    vec_done(&family->source_ranges);
    *family = (struct nat_family){ 0 };
}

void nat_row_free(struct nat_row *row)
{
    if (!row)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(row->families); i++)
        nat_family_done(&row->families[i]);
    vec_done(&row->foreign);
    free(row->namespace);
    free(row->name);
    free(row);
}

int nat_attachment_cmp(const void *a, const void *b)
{
    const struct nat_attachment *left = a, *right = b;
    int r = CMP(left->ifindex, right->ifindex);
    return r ? r : CMP(left->hook, right->hook);
}

/* The first that an interface has of the hooks; NULL: none. */
static const struct nat_attachment *find_hook(const struct nat_attachment *list, size_t count,
                                              uint32_t ifindex, const enum nat_hook hooks[static 2])
{
    const struct nat_attachment *found = NULL;
    for (size_t i = 0; !found && count > 0 && i < 2; i++) {
        const struct nat_attachment key = { .ifindex = ifindex, .hook = hooks[i] };
        found = bsearch(&key, list, count, sizeof(*list), nat_attachment_cmp);
    }
    return found;
}

bool nat_sees_replies(const struct nat_attachment *list, size_t count, uint32_t ifindex)
{
    /* A bridge of pods has pod_out; its ports have the hooks for incoming packets. */
    static const enum nat_hook hooks[] = { NAT_HOOK_UPLINK_IN, NAT_HOOK_POD_OUT };
    return find_hook(list, count, ifindex, hooks) != NULL;
}

bool nat_may_be_parent(const struct nat_attachment *list, size_t count, uint32_t ifindex)
{
    static const enum nat_hook hooks[] = { NAT_HOOK_UPLINK_IN, NAT_HOOK_POD_IN };
    const struct nat_attachment *found = find_hook(list, count, ifindex, hooks);
    return found && found->parent;
}
