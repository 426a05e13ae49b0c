// SPDX-License-Identifier: Apache-2.0
/*
 * Advertisements that select nothing; see advertisement_conflicts.h. Called by the engine of
 * conflicts when a pool, an advertisement or a Node has changed.
 *
 * Addresses that no advertisement selects are withheld without a fault, since that may be intended.
 * An advertisement with a name or label that no object has is never intended.
 */
#include "plan/conflicts/advertisement_conflicts.h"

#include <string.h>

#include "base/macro.h"
#include "faults/pools.h"
#include "model/advertisement.h"
#include "model/ip_pool.h"
#include "model/node.h"
#include "plan/object_fault.h"

static bool is_pool(const struct store *store, const char *name)
{
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(store, KIND_IP_POOL, &cursor));) {
        if (strcmp(object->name, name) == 0)
            return true;
    }
    return false;
}

static void check_names(const struct store *store, const struct advertisement *advertisement,
                        struct faults *faults)
{
    for (size_t i = 0; i < advertisement->pools.count; i++) {
        const char *name = advertisement->pools.items[i];
        if (!is_pool(store, name))
            object_raise(faults, &advertisement->object, advertisement_pool_unknown, .pool = name);
    }
}

static bool selects_a_pool(const struct store *store, const struct object_selectors *selectors)
{
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(store, KIND_IP_POOL, &cursor));) {
        const struct ip_pool *pool = to_ip_pool(object);
        if (object_selectors_match(selectors, pool->labels, pool->label_count))
            return true;
    }
    return false;
}

static bool selects_a_node(const struct store *store, const struct object_selectors *selectors)
{
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(store, KIND_NODE, &cursor));) {
        const struct node *node = to_node(object);
        if (object_selectors_match(selectors, node->labels, node->label_count))
            return true;
    }
    return store_count(store, KIND_NODE) == 0;
}

static void check(const struct store *store, const struct advertisement *advertisement,
                  struct faults *faults)
{
    check_names(store, advertisement, faults);
    if (advertisement->pool_selectors.count > 0 &&
        !selects_a_pool(store, &advertisement->pool_selectors))
        object_raise(faults, &advertisement->object, advertisement_selects_no_pool);
    if (advertisement->node_selectors.count > 0 &&
        !selects_a_node(store, &advertisement->node_selectors))
        object_raise(faults, &advertisement->object, advertisement_selects_no_node);
}

void advertisement_conflicts(const struct store *store, struct faults *faults)
{
    static const enum kind kinds[] = { KIND_BGP_ADVERTISEMENT, KIND_L2_ADVERTISEMENT };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        const struct object *object;
        for (size_t cursor = 0; (object = store_next(store, kinds[i], &cursor));)
            check(store, to_advertisement(object), faults);
    }
}
