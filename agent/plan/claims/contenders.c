// SPDX-License-Identifier: Apache-2.0
/* See contenders.h. Created by holding_nodes.c and, with times, by segment/claim_nodes.c. */
#include "plan/claims/contenders.h"

#include <errno.h>
#include <string.h>

static int node_cmp(const void *a, const void *b)
{
    return strcmp(((const struct placement_node *)a)->name,
                  ((const struct placement_node *)b)->name);
}

struct contenders *contenders_new(void)
{
    struct contenders *list = calloc(1, sizeof(*list));
    if (list)
        list->owners = 1;
    return list;
}

struct contenders *contenders_share(struct contenders *list)
{
    list->owners++;
    return list;
}

void contenders_drop(struct contenders *list)
{
    if (!list || --list->owners)
        return;
    vec_each(struct placement_node, node, &list->nodes)
        free(node->name);
    vec_done(&list->nodes);
    free(list);
}

int contenders_add(struct contenders *list, const char *name, int64_t since_ms)
{
    char *own = strdup(name);
    if (own && vec_push(&list->nodes, (struct placement_node){ own, since_ms, false }) == 0)
        return 0;
    free(own);
    return -ENOMEM;
}

void contenders_lacks(struct contenders *list)
{
    list->nodes.items[list->nodes.count - 1].lacks = true;
}

void contenders_sort(struct contenders *list)
{
    vec_sort(&list->nodes, node_cmp);
}

const struct placement_node *contenders_find(const struct contenders *list, const char *name)
{
    size_t low = 0, high = list->nodes.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(list->nodes.items[middle].name, name);
        if (order == 0)
            return &list->nodes.items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool contenders_same_nodes(const struct contenders *a, const struct contenders *b)
{
    if (a == b || a->nodes.count != b->nodes.count)
        return a == b;
    for (size_t i = 0; i < a->nodes.count; i++) {
        if (node_cmp(&a->nodes.items[i], &b->nodes.items[i]) != 0 ||
            a->nodes.items[i].lacks != b->nodes.items[i].lacks)
            return false;
    }
    return true;
}

bool contenders_equal(const struct contenders *a, const struct contenders *b)
{
    if (!contenders_same_nodes(a, b))
        return false;
    for (size_t i = 0; i < a->nodes.count; i++) {
        if (a->nodes.items[i].since_ms != b->nodes.items[i].since_ms)
            return false;
    }
    return true;
}

int contenders_both(struct contenders *a, struct contenders *b, struct contenders **ret_list)
{
    CLEANUP(contenders_dropp) struct contenders *both = contenders_new();
    int r = both ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < a->nodes.count; i++) {
        const struct placement_node *node = &a->nodes.items[i];
        const struct placement_node *other = contenders_find(b, node->name);
        if (other)
            r = contenders_add(both, node->name, node->since_ms);
        if (other && r == 0 && (node->lacks || other->lacks))
            contenders_lacks(both);
    }
    if (r < 0)
        return r;
    if (contenders_same_nodes(both, a))
        *ret_list = contenders_share(a);
    else if (contenders_same_nodes(both, b))
        *ret_list = contenders_share(b);
    else
        *ret_list = TAKE_PTR(both);
    return 0;
}
