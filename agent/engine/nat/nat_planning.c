// SPDX-License-Identifier: Apache-2.0
/*
 * The dirty Services of a round, planned; see nat_planning.h.
 *
 * Turns are planned first and written later (nat_turns.c), so that the routes of what loses service
 * go in between. Nothing is planned before it is known what is wanted: a Service read before its
 * slices would refuse everybody.
 */
#include "engine/nat/nat_planning.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "plan/nat_change.h"

/* Adds what a turn touches; the lists of a whole pass are not sorted for each. */
static int add_addresses(const struct nat_turn *turn, struct round *round)
{
    AUTOVEC ip_list lost = { 0 }, all = { 0 };
    int r = nat_row_losses(turn->before, turn->after, &lost);
    if (r == 0)
        r = nat_row_addresses(turn->before, &all);
    if (r == 0)
        r = nat_row_addresses(turn->after, &all);
    if (r == 0)
        r = vec_append(&round->losses, &lost);
    return r < 0 ? r : vec_append(&round->touched, &all);
}

/* Takes over `after`. The same again is no turn. */
static int add_turn(struct nat_engine *engine, struct nat_row *before, struct nat_row *after,
                    struct round *round)
{
    CLEANUP(nat_row_freep) struct nat_row *fresh = after;
    if ((!before && !fresh) || (before && fresh && nat_row_equal(before, fresh)))
        return 0;
    struct nat_turn turn = { before, fresh };
    int r = add_addresses(&turn, round);
    if (r == 0)
        r = vec_push(&engine->turns, turn);
    if (r < 0)
        return r;
    (void)TAKE_PTR(fresh);
    return 0;
}

static int plan_one(struct nat_engine *engine, const struct node_facts *facts,
                    const struct nat_key *key, struct round *round)
{
    const struct object *object = store_get(engine->store, KIND_SERVICE, key->namespace, key->name);
    struct nat_row *before = nat_state_row(engine, key->namespace, key->name), *after = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    int r = object ? plan_nat_service(facts, to_service(object), &after, &faults) : 0;
    if (r < 0)
        return r;
    AUTOFREE char *group = text_format("plan %s/%s", key->namespace, key->name);
    if (group)
        nat_state_report(engine, group, &faults);
    return add_turn(engine, before, after, round);
}

static int key_cmp(const void *a, const void *b)
{
    const struct nat_key *left = a, *right = b;
    int r = strcmp(left->namespace, right->namespace);
    return r ? r : strcmp(left->name, right->name);
}

/* Every Service that is there, or was. */
static int add_all_keys(const struct nat_engine *engine, nat_key_list *keys)
{
    AUTOVEC object_list services = { 0 };
    int r = store_list(engine->store, KIND_SERVICE, &services);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &services) {
        r = vec_push(keys, (struct nat_key){ (*object)->namespace, (*object)->name });
        if (r < 0)
            return r;
    }
    sorted_each(struct nat_row *, row, &engine->rows) {
        r = vec_push(keys, (struct nat_key){ (*row)->namespace, (*row)->name });
        if (r < 0)
            return r;
    }
    return 0;
}

/* What an earlier agent announced and is not served any more goes before the maps say so. */
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

static int plan_keys(struct nat_engine *engine, struct round *round)
{
    const struct node_facts facts = nat_state_facts(engine);
    nat_key_list *keys = &engine->work.keys;
    int r = engine->work.all ? add_all_keys(engine, keys) : 0;
    if (r < 0)
        return r;
    vec_sort(keys, key_cmp);
    vec_drop_equal(keys, key_cmp);
    vec_each(const struct nat_key, key, keys) {
        r = plan_one(engine, &facts, key, round);
        if (r < 0)
            return r;
    }
    return 0;
}

int nat_turns_plan(struct nat_engine *engine, struct round *round)
{
    nat_state_drop_turns(engine);
    int r = add_inherited(engine, round);
    if (r == 0)
        r = plan_keys(engine, round);
    if (r < 0) {
        nat_state_drop_turns(engine);
        return r;
    }
    ip_list_unite(&round->losses);
    ip_list_unite(&round->touched);
    return 0;
}
