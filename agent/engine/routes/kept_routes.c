// SPDX-License-Identifier: Apache-2.0
/* Which routes of an earlier agent are kept, and until when; see kept_routes.h. */
#include "engine/routes/kept_routes.h"

#include <errno.h>

#include "base/clock.h"
#include "faults/raise.h"
#include "faults/routes.h"

void kept_routes_init(struct kept_routes *kept)
{
    *kept = (struct kept_routes){ .slots = SORTED(struct route, route_slot_cmp) };
}

void kept_routes_done(struct kept_routes *kept)
{
    sorted_done(&kept->slots);
}

bool kept_routes_are_free(const struct kept_routes *kept, const struct status *status)
{
    return kept->slots.count && status->source.unknown_files == 0;
}

/* Rows of blocks begin with their prefix. */
static bool has_prefix(const struct sorted *rows, const void *first)
{
    size_t at = sorted_lower_bound(rows, first);
    return at < rows->count && prefix_cmp(sorted_at(rows, at), first) == 0;
}

/* True if a row decides about the slot, even one that withholds the address. */
static bool is_named(const struct route_plan *plan, const struct route *slot)
{
    struct address_row key = { .address = slot->prefix.ip }, *key_ptr = &key;
    if (slot->prefix.length == ip_bits(&slot->prefix.ip) && sorted_find(&plan->addresses, &key_ptr))
        return true;
    return has_prefix(&plan->blocks, &(struct block_row){ .prefix = slot->prefix }) ||
           has_prefix(&plan->direct, &(struct direct_row){ .prefix = slot->prefix });
}

/* A slot that an object names follows the objects from then on, also when they stop naming it. */
static void drop_named(struct kept_routes *kept, const struct route_plan *plan)
{
    for (size_t i = kept->slots.count; i > 0; i--) {
        struct route slot = *(struct route *)sorted_at(&kept->slots, i - 1);
        if (is_named(plan, &slot))
            sorted_remove(&kept->slots, &slot);
    }
}

static void report(const struct kept_routes *kept, struct status *status)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (kept->slots.count)
        fault_raise(&faults, "start", routes_inherited, .count = (int64_t)kept->slots.count);
    (void)fault_book_replace(status->faults, "routes", "inheritance", &faults, clock_wall_ms());
}

static bool must_wait(const struct kept_routes *kept, const struct route_op *op)
{
    return op->kind == OP_DELETE && sorted_find(&kept->slots, &op->route);
}

/* A route of an address that is in use by an unknown owner. */
static bool is_unowned(const struct status *status, const struct route_op *op)
{
    return op->kind == OP_DELETE && status->unowned.ips &&
           op->route.prefix.length == ip_bits(&op->route.prefix.ip) &&
           sorted_find(status->unowned.ips, &op->route.prefix.ip);
}

static void take_out_unowned(const struct status *status, struct route_diff *diff)
{
    size_t left = 0;
    vec_each(const struct route_op, op, &diff->ops) {
        if (!is_unowned(status, op))
            diff->ops.items[left++] = *op;
    }
    diff->ops.count = left;
}

int kept_routes_take_out(struct kept_routes *kept, const struct route_plan *plan,
                         struct status *status, bool everything, struct route_diff *diff)
{
    bool first = everything && !kept->chosen;
    kept->chosen |= everything;
    take_out_unowned(status, diff);
    if (status->source.unknown_files == 0) {
        sorted_clear(&kept->slots);
        report(kept, status);
        return 0;
    }

    drop_named(kept, plan);
    vec_each(const struct route_op, op, &diff->ops) {
        if (first && op->kind == OP_DELETE && !is_named(plan, &op->route) &&
            sorted_put(&kept->slots, &op->route) < 0)
            return -ENOMEM;
    }
    size_t left = 0;
    vec_each(const struct route_op, op, &diff->ops) {
        if (!must_wait(kept, op))
            diff->ops.items[left++] = *op;
    }
    diff->ops.count = left;
    report(kept, status);
    return 0;
}
