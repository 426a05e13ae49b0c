// SPDX-License-Identifier: Apache-2.0
/*
 * Leases of several nodes on one store: whatever is lost, late, stopped or killed, no two kernels
 * have the address at once, and when all is well again one has it. LEASE_RUNS and LEASE_SEED ask
 * for more random runs, or others.
 */
#include <stdlib.h>

#include "lease_world.h"

static const struct fate prompt = { 10, 10 };

static struct fate all_is_prompt(struct world *world, const struct message *message)
{
    (void)world, (void)message;
    return prompt;
}

static int holders(const struct world *world)
{
    int count = 0;
    for (int i = 0; i < world->node_count; i++)
        count += world->nodes[i].has;
    return count;
}

/* What is left of faults ends, and then somebody has it. */
static void assert_heals(struct world *world)
{
    world->fate = all_is_prompt;
    for (int i = 0; i < world->node_count; i++) {
        struct world_node *node = &world->nodes[i];
        node->stopped_until = node->cut_until = 0;
        lease_rank(&node->lease, i, clock_of(world, node));
    }
    run_for(world, 4 * world->rules.duration_ms);
    assert_int_equal(holders(world), 1);
    int holder = world->last_holder, moved = world->moved;
    run_for(world, 3 * world->rules.duration_ms);
    assert_int_equal(world->last_holder, holder);
    assert_int_equal(world->moved, moved);
    assert_int_equal(holders(world), 1);
}

/* ---- Every order of what becomes of the first messages ---- */

enum { FATES = 5, DEPTH = 4, PAUSES = 6 };

static const struct fate fates[FATES] = {
    { 10, 10 }, { NEVER, 0 }, { 10, NEVER }, { 3500, 10 }, { 10, 3500 },
};

static int plot[DEPTH];
static int pause_at;

static struct fate plotted(struct world *world, const struct message *message)
{
    if (message->heard)
        return plot[0] == 1 ? fates[1] : prompt;
    if (world->sent == pause_at)
        world->nodes[message->node].stopped_until = world->now + 7000;
    return world->sent < DEPTH ? fates[plot[world->sent]] : prompt;
}

static void play_plot(int number)
{
    struct world world;
    world_begin(&world, 2, (uint64_t)number);
    world.fate = plotted;
    run_for(&world, 4000);
    /* The first dies once it has it, or is told to give it back. */
    lease_rank(&world.nodes[0].lease, number % 2 ? LEASE_NO_RANK : 1,
               clock_of(&world, &world.nodes[0]));
    if (number % 3 == 0)
        begin_life(&world, &world.nodes[0]);
    run_for(&world, 14000);
    assert_heals(&world);
}

static void no_order_of_messages_makes_two_holders(void **state)
{
    (void)state;
    for (int number = 0; number < FATES * FATES * FATES * FATES; number++) {
        for (int i = 0, rest = number; i < DEPTH; i++, rest /= FATES)
            plot[i] = rest % FATES;
        pause_at = number % PAUSES;
        play_plot(number);
    }
}

/* ---- At random ---- */

static struct fate at_random(struct world *world, const struct message *message)
{
    (void)message;
    struct fate fate = { chance(world, 60), chance(world, 60) };
    switch (chance(world, 12)) {
    case 0:
        fate.request_ms = NEVER;
        break;
    case 1:
        fate.answer_ms = NEVER;
        break;
    case 2:
        fate.request_ms = chance(world, 9000);
        break;
    case 3:
        fate.answer_ms = chance(world, 9000);
        break;
    default:
        break;
    }
    return fate;
}

static void befall(struct world *world)
{
    struct world_node *node = &world->nodes[chance(world, world->node_count)];
    switch (chance(world, 9)) {
    case 0:
        node->stopped_until = world->now + chance(world, 20000);
        break;
    case 1:
        begin_life(world, node); /* killed, and begun anew */
        break;
    case 2:
        node->has = false; /* rebooted */
        begin_life(world, node);
        break;
    case 3:
        node->cut_until = world->now + chance(world, 15000);
        break;
    case 4: /* the store is away for everybody */
        for (int i = 0; i < world->node_count; i++)
            world->nodes[i].cut_until = world->now + chance(world, 3) * 4000;
        break;
    case 5:
        world_delete(world);
        break;
    default: { /* placement thinks otherwise; not all nodes need agree */
        int32_t rank = (int32_t)chance(world, 4) - 1;
        lease_rank(&node->lease, rank, clock_of(world, node));
        break;
    }
    }
}

static long setting(const char *name, long otherwise)
{
    const char *value = getenv(name);
    return value ? strtol(value, NULL, 10) : otherwise;
}

static void no_fault_makes_two_holders(void **state)
{
    (void)state;
    long runs = setting("TENURE_RUNS", 300), seed = setting("TENURE_SEED", 1);
    int moved = 0, sent = 0;
    for (long run = 0; run < runs; run++) {
        struct world world;
        world_begin(&world, run % 2 ? 2 : 3, (uint64_t)(seed * 1000003 + run));
        world.fate = at_random;
        for (int i = 0; i < 40; i++) {
            run_for(&world, 200 + chance(&world, 4000));
            befall(&world);
        }
        assert_heals(&world);
        moved += world.moved;
        sent += world.sent;
    }
    print_message("# %ld runs: moved %d times, %d requests\n", runs, moved, sent);
    assert_true(moved > runs); /* there was something to be judged */
}

/* ---- What it takes when nothing goes wrong ---- */

static int64_t run_until_moved(struct world *world)
{
    int64_t begin = world->now;
    for (int moved = world->moved; world->moved == moved && world->now - begin < 60000;)
        tick(world);
    return world->now - begin;
}

/* The first node has it. */
static void settle(struct world *world, int nodes)
{
    world_begin(world, nodes, 7);
    world->fate = all_is_prompt;
    run_until_moved(world);
    run_for(world, 10000);
    assert_int_equal(world->last_holder, 0);
}

static void release_moves_it_at_once(void **state)
{
    (void)state;
    struct world world;
    settle(&world, 3);
    lease_rank(&world.nodes[1].lease, 0, clock_of(&world, &world.nodes[1]));
    lease_rank(&world.nodes[0].lease, LEASE_NO_RANK, clock_of(&world, &world.nodes[0]));
    assert_in_range(run_until_moved(&world), 1, 200);
    assert_int_equal(world.last_holder, 1);
}

static void dead_holder_is_waited_out(void **state)
{
    (void)state;
    struct world world;
    settle(&world, 3);
    world.nodes[0].stopped_until = INT64_MAX;
    assert_in_range(run_until_moved(&world), 2500, world.rules.duration_ms + 1000);
    assert_int_equal(world.last_holder, 1);
}

static struct fate all_is_slow(struct world *world, const struct message *message)
{
    (void)world, (void)message;
    return (struct fate){ 80, 80 };
}

/* Whoever comes second is told of the first's write before it asks, however slow the store is. */
static void of_two_who_may_one_asks(void **state)
{
    (void)state;
    static struct fate (*const stores[])(struct world *, const struct message *) = { all_is_prompt,
                                                                                     all_is_slow };
    for (size_t i = 0; i < ARRAY_SIZE(stores); i++) {
        struct world world;
        settle(&world, 3);
        world.fate = stores[i];
        begin_life(&world, &world.nodes[2]); /* and finds out how slow it is */
        lease_rank(&world.nodes[2].lease, 2, clock_of(&world, &world.nodes[2]));
        run_for(&world, 1000);
        world.nodes[0].stopped_until = INT64_MAX;
        int sent = world.nodes[2].sent;
        assert_true(sent > 0);
        run_until_moved(&world);
        run_for(&world, 1000);
        assert_int_equal(world.last_holder, 1);
        assert_int_equal(world.nodes[2].sent, sent);
    }
}

static void restarted_agent_keeps_it(void **state)
{
    (void)state;
    struct world world;
    settle(&world, 3);
    for (int i = 0; i < 100; i++) {
        begin_life(&world, &world.nodes[0]);
        lease_rank(&world.nodes[0].lease, 0, clock_of(&world, &world.nodes[0]));
        for (int64_t end = world.now + chance(&world, 1500); world.now < end;) {
            tick(&world);
            assert_true(world.nodes[0].has);
        }
    }
    assert_int_equal(world.moved, 1);
}

/* Rebooted in order, it has nothing in its kernel: its own record binds it like another's. */
static void rebooted_node_waits_like_others(void **state)
{
    (void)state;
    struct world world;
    settle(&world, 1);
    world.nodes[0].has = false;
    begin_life(&world, &world.nodes[0]);
    lease_rank(&world.nodes[0].lease, 0, clock_of(&world, &world.nodes[0]));
    int64_t begin = world.now;
    while (!world.nodes[0].has)
        tick(&world);
    assert_in_range(world.now - begin, world.rules.duration_ms, world.rules.duration_ms + 1000);
}

/* The store is away for longer than a claim lasts: gone everywhere, and back with the store. */
static void it_is_back_with_the_store(void **state)
{
    (void)state;
    struct world world;
    settle(&world, 3);
    for (int i = 0; i < world.node_count; i++)
        world.nodes[i].cut_until = world.now + 60000;
    run_for(&world, world.rules.duration_ms);
    for (; world.now < world.nodes[0].cut_until; tick(&world))
        assert_int_equal(holders(&world), 0);
    int64_t begin = world.now;
    while (holders(&world) == 0)
        tick(&world);
    assert_in_range(world.now - begin, 1, lease_keepable_ms(&world.rules) + 1100);
}

static void one_that_does_not_move_costs_three_writes_a_claim(void **state)
{
    (void)state;
    struct world world;
    settle(&world, 3);
    int sent = world.sent;
    run_for(&world, 20 * world.rules.duration_ms);
    assert_in_range(world.sent - sent, 55, 62);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_order_of_messages_makes_two_holders),
        cmocka_unit_test(no_fault_makes_two_holders),
        cmocka_unit_test(release_moves_it_at_once),
        cmocka_unit_test(dead_holder_is_waited_out),
        cmocka_unit_test(of_two_who_may_one_asks),
        cmocka_unit_test(restarted_agent_keeps_it),
        cmocka_unit_test(rebooted_node_waits_like_others),
        cmocka_unit_test(it_is_back_with_the_store),
        cmocka_unit_test(one_that_does_not_move_costs_three_writes_a_claim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
