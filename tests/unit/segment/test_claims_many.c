// SPDX-License-Identifier: Apache-2.0
/* Many claims, and other nodes that have or had them: what is asked first, what asks for no turn,
 * and to whom nothing goes back. */
#include "claim_world.h"

/* Two nodes: this one, and another that comes before it by the order of the key. */
static void begin_second(struct world *world, int64_t failback_ms)
{
    begin(world);
    world->claims.options.failback_ms = failback_ms;
    world->claim.others = contenders_new();
    assert_non_null(world->claim.others);
    for (unsigned i = 0; world->claim.others->nodes.count == 0; i++) {
        char name[16];
        struct contenders *one = contenders_new();
        (void)snprintf(name, sizeof(name), "other-%u", i);
        assert_int_equal(contenders_add(one, name, 0), 0);
        const struct placement placement = { .others = one, .key = KEY, .self = "node-1" };
        bool before = placement_first(&placement) != NULL;
        contenders_drop(before ? world->claim.others : one);
        world->claim.others = before ? one : world->claim.others;
    }
}

static void take_over(struct world *world)
{
    world->later_ms += 11000;
    claim_rank(&world->claim, now_of(world));
    claim_ask(&world->claim, now_of(world));
    answer(world, CLAIM_DONE, NULL);
    claim_rank(&world->claim, now_of(world));
    assert_true(world->claim.has_right);
}

/* Whether it is given back at that time; that it could be renewed meanwhile is not asked. */
static bool goes_back_at(struct world *world, int64_t later_ms)
{
    claim_rank(&world->claim, clock_boot_ms() + later_ms);
    bool back = world->claim.lease.rank == LEASE_NO_RANK;
    claim_rank(&world->claim, now_of(world));
    return back;
}

/* A dead node is a ready one for a while, and in a folder for ever. */
static void nothing_goes_back_at_once_to_who_lost_it(void **state)
{
    (void)state;
    struct world world;
    begin_second(&world, 3000);
    const char *first = world.claim.others->nodes.items[0].name;
    claim_rank(&world.claim, now_of(&world));
    hear(&world, first);
    take_over(&world);
    assert_string_equal(world.claim.passed_over, first);
    assert_false(goes_back_at(&world, 15000));
    assert_false(goes_back_at(&world, 55000));
    assert_true(goes_back_at(&world, 65000));
    /* It is given back, and he does not take it: twice as long. */
    hear(&world, "");
    lease_begin(&world.claim.lease, &world.claims.options.rules, world.claims.node, 0);
    world.claim.has_right = false;
    claim_rank(&world.claim, now_of(&world));
    hear(&world, "");
    take_over(&world);
    assert_string_equal(world.claim.passed_over, first);
    assert_in_range(world.claim.passed_until_ms - clock_boot_ms(), 10000, 12000);
    /* He has it: all is forgotten. */
    lease_begin(&world.claim.lease, &world.claims.options.rules, world.claims.node, 0);
    claim_rank(&world.claim, now_of(&world));
    hear(&world, first);
    claim_rank(&world.claim, now_of(&world));
    assert_string_equal(world.claim.passed_over, "");
    contenders_drop(world.claim.others);
    end(&world);
}

static unsigned turns_after(struct world *world, const char *holder)
{
    world->turns = 0;
    hear(world, holder);
    while (sd_event_run(world->event, 0) > 0)
        continue;
    return world->turns;
}

/* What others do all the time costs as much as they do, and not a turn through all claims. */
static void a_renewal_of_another_asks_for_no_turn(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    assert_int_equal(turns_after(&world, "node-2"), 1);
    assert_int_equal(turns_after(&world, "node-2"), 0);
    assert_int_equal(turns_after(&world, "node-3"), 1);
    assert_int_equal(turns_after(&world, ""), 1);
    assert_int_equal(turns_after(&world, ""), 1);
    assert_int_equal(turns_after(&world, NULL), 1);
    end(&world);
}

/* How many have no request under way. */
static unsigned unasked(const struct claims *claims)
{
    unsigned count = 0;
    vec_each(struct own_claim *const, claim, &claims->list)
        count += !(*claim)->request;
    return count;
}

/* A claim that was read waits for no other: it would have to be read again. */
static void as_many_are_asked_as_may_be_and_what_was_read_is_written_first(void **state)
{
    (void)state;
    enum { CLAIMS = ASKING_MOST + 4 };
    struct world world;
    begin(&world);
    world.since_ms = 0; /* nobody ever had it */
    struct own_claim list[CLAIMS];
    for (size_t i = 0; i < CLAIMS; i++) {
        list[i] = world.claim;
        (void)snprintf(list[i].key, sizeof(list[i].key), "address.%zu", i);
        assert_int_equal(vec_push(&world.claims.list, &list[i]), 0);
        claim_rank(&list[i], now_of(&world));
    }
    list[1].lease.rank = 1; /* whoever is the first comes before it */
    claims_pace(&world.claims, now_of(&world));
    claims_ask(&world.claims, now_of(&world));
    assert_int_equal(unasked(&world.claims), 4);
    for (size_t i = 0; i < CLAIMS; i++)
        assert_true(!list[i].request == (i == 1 || i > ASKING_MOST));
    assert_true(claim_next_ms(&list[CLAIMS - 1], now_of(&world)) == INT64_MAX); /* an answer */
    world.asked.context = &list[2];
    answer(&world, CLAIM_ABSENT, NULL);
    claims_pace(&world.claims, now_of(&world));
    world.log[0] = '\0';
    claims_ask(&world.claims, now_of(&world));
    assert_string_equal(world.log, "create");
    assert_non_null(list[2].request);
    answer(&world, CLAIM_DONE, NULL);
    claims_pace(&world.claims, now_of(&world));
    claims_ask(&world.claims, now_of(&world));
    assert_string_equal(world.log, "create read");
    assert_non_null(list[ASKING_MOST + 1].request);
    vec_done(&world.claims.list);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_goes_back_at_once_to_who_lost_it),
        cmocka_unit_test(a_renewal_of_another_asks_for_no_turn),
        cmocka_unit_test(as_many_are_asked_as_may_be_and_what_was_read_is_written_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
