// SPDX-License-Identifier: Apache-2.0
/*
 * The planning half of a NAT round; see nat_planning.h.
 *
 * Turns are planned first and written later (nat_updates.c), because the routes of addresses that
 * lose service are removed in between. Nothing is planned before all objects are read: a Service
 * that is read before its slices would refuse all clients.
 */
#include "engine/nat/nat_planning.h"

#include "base/text.h"
#include "plan/nat/nat_change.h"
#include "plan/nat/nat_update.h"

/*
 * Adds the addresses of an update to the round; the caller sorts them once, after the last update.
 */
static int add_addresses(const struct nat_update *turn, struct round *round)
{
    AUTOVEC ip_list lost = { 0 }, all = { 0 };
    int r = nat_row_losses(turn->before, turn->after, &lost);
    if (r < 0)
        return r;
    r = nat_row_addresses(turn->before, &all);
    if (r < 0)
        return r;
    r = nat_row_addresses(turn->after, &all);
    if (r < 0)
        return r;
    r = vec_append(&round->losses, &lost);
    return r < 0 ? r : vec_append(&round->touched, &all);
}

/* Adds an update if the rows differ. Owns `after` from here on. */
static int add_turn(struct nat_engine *engine, struct nat_row *before, struct nat_row *after,
                    struct round *round)
{
    CLEANUP(nat_row_freep) struct nat_row *fresh = after;
    if ((!before && !fresh) || (before && fresh && nat_row_equal(before, fresh)))
        return 0;
    struct nat_update turn = { before, fresh };
    int r = add_addresses(&turn, round);
    if (r < 0)
        return r;
    r = vec_push(&engine->turns, turn);
    if (r < 0)
        return r;
    (void)TAKE_PTR(fresh);
    return 0;
}

struct planning {
    struct nat_engine *engine;
    struct round *round;
};

static int take_planned(void *context, struct nat_planned *planned)
{
    const struct planning *planning = context;
    AUTOFREE char *group = text_format("plan %s/%s", planned->key.namespace, planned->key.name);
    if (group)
        nat_state_report(planning->engine, group, &planned->faults);
    return add_turn(planning->engine, planned->before, TAKE_PTR(planned->after), planning->round);
}

/*
 * Addresses that an earlier agent announced may no longer be served. The first round after the
 * source has synced plans their routes before the maps change.
 */
static int add_inherited(const struct nat_engine *engine, struct round *round)
{
    if (!engine->work.all || engine->synced || !engine->status->source.synced)
        return 0;
    sorted_each(const struct proof, proof, &engine->proofs.of_addresses) {
        int r = vec_push(&round->losses, proof->address);
        if (r < 0)
            return r;
    }
    return 0;
}

int nat_updates_plan(struct nat_engine *engine, struct round *round)
{
    const struct node_facts facts = nat_state_facts(engine);
    struct nat_work *work = &engine->work;
    struct planning planning = { engine, round };
    nat_state_drop_updates(engine);
    int r = add_inherited(engine, round);
    if (r == 0)
        r = plan_nat_update(&facts, &engine->rows, work->all, &work->keys, take_planned, &planning);
    if (r < 0) {
        nat_state_drop_updates(engine);
        return r;
    }
    ip_list_unite(&round->losses);
    ip_list_unite(&round->touched);
    return 0;
}
