// SPDX-License-Identifier: Apache-2.0
/*
 * Leases on a store that is slow: for each time that a write takes, from a twentieth of the
 * duration to nearly all of it, and for each order of lost, late and repeated answers. A node keeps
 * the address, or gives it back and knows why. What must not last is an address that nobody has,
 * under a record that is renewed. LEASE_DEPTH asks for longer orders.
 */
#include <stdlib.h>

#include "lease_world.h"

/* What the store is like, for one world at a time. */
static struct store_like {
    int64_t write_ms, read_ms;
    bool drops; /* what its asker has given up: an API server does, etcd does not */
} like;

static struct fate by_store(struct world *world, const struct message *message)
{
    (void)world;
    if (message->heard)
        return (struct fate){ 0, 20 };
    if (message->step == LEASE_READ)
        return (struct fate){ like.read_ms / 2, like.read_ms - like.read_ms / 2 };
    return (struct fate){ like.write_ms - 10, 10 };
}

static int holders(const struct world *world)
{
    int count = 0;
    for (int i = 0; i < world->node_count; i++)
        count += world->nodes[i].has;
    return count;
}

/* ---- A record that is renewed in vain ---- */

struct vain {
    int version;       /* that was seen last */
    int64_t landed_at; /* when it came */
    int64_t since;     /* the first renewal that nobody has the address by; 0: none */
    int64_t most_ms, without_ms;
};

static void look_for_vain(struct world *world, struct vain *vain)
{
    const struct world_store *store = &world->store;
    const int64_t duration_ms = world->rules.duration_ms;
    bool named = store->there && store->record.holder[0];
    if (store->version != vain->version) {
        vain->version = store->version;
        vain->landed_at = world->now;
        if (!vain->since && named)
            vain->since = world->now;
    }
    if (!named || holders(world) || world->now - vain->landed_at > duration_ms)
        vain->since = 0;
    if (vain->since)
        vain->most_ms = MAX(vain->most_ms, world->now - vain->since);
    if (!holders(world))
        vain->without_ms += TICK_MS;
}

/* Whoever has given up a request has it forgotten before it is done. */
static void drop_given_up(struct world *world)
{
    for (size_t i = 0; i < MESSAGES; i++) {
        struct message *message = &world->messages[i];
        if (message->used && !message->heard && !message->landed &&
            message->number != world->nodes[message->node].request)
            message->used = false;
    }
}

static void watch_for(struct world *world, int64_t ms, struct vain *vain)
{
    for (int64_t end = world->now + ms; world->now < end;) {
        tick(world);
        if (like.drops)
            drop_given_up(world);
        look_for_vain(world, vain);
    }
}

/* ---- Each pace ---- */

/* The holder was there before the store became slow, or has to begin with it as it is. */
static void begin_at(struct world *world, int nodes, int64_t duration_ms, bool settled)
{
    struct store_like slow = like;
    world_begin(world, nodes, 7);
    world->rules.duration_ms = duration_ms;
    for (int i = 0; i < nodes; i++) {
        world->nodes[i].lease.rules = world->rules;
    }
    world->fate = by_store;
    if (!settled)
        return;
    like = (struct store_like){ 20, 20, false };
    run_for(world, 3 * duration_ms);
    assert_int_equal(holders(world), 1);
    like = slow;
}

static bool any_is_slow(const struct world *world)
{
    bool any = false;
    for (int i = 0; i < world->node_count; i++)
        any |= lease_slow_ms(&world->nodes[i].lease, clock_of(world, &world->nodes[i])) > 0;
    return any;
}

static void judge_pace_of(int64_t duration_ms, int percent, bool settled, bool slow_reads)
{
    struct world world;
    struct vain vain = { 0 };
    like.write_ms = duration_ms * percent / 100;
    like.read_ms = slow_reads ? like.write_ms : 20;
    begin_at(&world, 2, duration_ms, settled);
    int moved = world.moved;
    bool keepable = like.write_ms <= lease_keepable_ms(&world.rules) - 2 * TICK_MS;
    watch_for(&world, keepable && !settled ? 3 * duration_ms : 0, &vain);
    vain.without_ms = 0;
    watch_for(&world, 12 * duration_ms, &vain);
    if (keepable && (vain.without_ms || holders(&world) != 1 || (settled && world.moved != moved)))
        fail_msg("%lld ms, %d %%, settled %d, reads %lld, drops %d: without for %lld ms",
                 (long long)duration_ms, percent, settled, (long long)like.read_ms, like.drops,
                 (long long)vain.without_ms);
    /* Who can't even read asks for nothing, which its requests tell. */
    bool asks = settled || like.read_ms < lease_keepable_ms(&world.rules);
    if (!keepable && ((asks && !any_is_slow(&world)) || vain.most_ms > duration_ms))
        fail_msg("%lld ms, %d %%, settled %d, reads %lld, drops %d: in vain for %lld ms, told %d",
                 (long long)duration_ms, percent, settled, (long long)like.read_ms, like.drops,
                 (long long)vain.most_ms, any_is_slow(&world));
    like = (struct store_like){ 20, 20, false };
    run_for(&world, 8 * duration_ms);
    assert_int_equal(holders(&world), 1); /* quick again */
    assert_false(any_is_slow(&world));
}

static void each_pace_is_kept_or_given_back(void **state)
{
    (void)state;
    static const int64_t durations_ms[] = { 4000, 10000 };
    for (size_t i = 0; i < ARRAY_SIZE(durations_ms); i++) {
        for (int percent = 5; percent <= 90; percent += 5) {
            for (int path = 0; path < 8; path++) {
                like.drops = path & 1;
                judge_pace_of(durations_ms[i], percent, path & 2, path & 4);
            }
        }
    }
}

/* ---- Each order of answers ---- */

enum { FATES = 6, DEPTH_MOST = 8 };

static int plot[DEPTH_MOST], depth;
static int64_t begun_at; /* the number of the message that the plot begins with */

/* Of the duration of 5 s: prompt; lost; done without an answer; done late; answered late; both. */
static const struct fate fates[FATES] = {
    { 10, 10 }, { NEVER, 0 }, { 10, NEVER }, { 3000, 10 }, { 10, 2500 }, { 1000, 1000 },
};

static struct fate plotted(struct world *world, const struct message *message)
{
    int64_t number = world->sent - begun_at;
    if (message->heard)
        return (struct fate){ 0, plot[0] % 2 ? 20 : 600 };
    return fates[number >= 0 && number < depth ? plot[number] : 0];
}

/* An answer comes once more, as by a proxy that repeats it; nobody waits for it any more. */
static void repeat_answers(struct world *world)
{
    for (int i = 0; i < world->node_count; i++) {
        struct lease *lease = &world->nodes[i].lease;
        if (lease->asked != LEASE_WAIT)
            continue;
        const struct lease before = *lease;
        int64_t now = clock_of(world, &world->nodes[i]);
        lease_wrote(lease, "1", now);
        lease_failed(lease, true, now);
        lease_absent(lease, 0, now);
        lease_saw(lease, &lease->desired, "1", now);
        assert_memory_equal(lease, &before, sizeof(before));
    }
}

static void play(int number)
{
    struct world world;
    struct vain vain = { 0 };
    like = (struct store_like){ 20, 20, number % 3 == 0 };
    world_begin(&world, 2, (uint64_t)number);
    world.nodes[0].ppm = number % 2 ? 200 : -200;
    world.nodes[1].ppm = -world.nodes[0].ppm;
    world.fate = by_store;
    run_for(&world, 12000);
    assert_int_equal(holders(&world), 1);
    begun_at = world.sent + 1;
    world.fate = plotted;
    for (int i = 0; i < 20; i++) {
        watch_for(&world, world.rules.duration_ms / 4, &vain);
        repeat_answers(&world);
    }
    if (vain.most_ms > world.rules.duration_ms)
        fail_msg("plot %d: renewed in vain for %lld ms", number, (long long)vain.most_ms);
    run_for(&world, 4 * world.rules.duration_ms);
    assert_int_equal(holders(&world), 1);
}

static void no_order_of_answers_renews_in_vain(void **state)
{
    (void)state;
    const char *wanted = getenv("TENURE_DEPTH");
    depth = wanted ? MIN((int)strtol(wanted, NULL, 10), (int)DEPTH_MOST) : 4;
    int plots = 1;
    for (int i = 0; i < depth; i++)
        plots *= FATES;
    for (int number = 0; number < plots; number++) {
        for (int i = 0, rest = number; i < depth; i++, rest /= FATES)
            plot[i] = rest % FATES;
        play(number);
    }
}

/* ---- A clock that is set back ---- */

enum { START = 20000 };

/* Two renewals that say the same would prove one another: the second is sent later. */
static void no_two_requests_say_the_same(void **state)
{
    (void)state;
    struct lease lease;
    lease_begin(&lease, &lease_rules_default, "a", 0);
    lease_rank(&lease, 0, 0);
    assert_int_equal(lease_next(&lease, START, 1000), LEASE_READ);
    lease_absent(&lease, 0, START);
    assert_int_equal(lease_next(&lease, START, 1000), LEASE_CREATE);
    lease_wrote(&lease, "1", START + 10);
    assert_int_equal(lease_next(&lease, START + 4000, 1000), LEASE_UPDATE);
    const struct lease_record first = lease.desired, before = lease.seen;
    assert_false(lease_record_eq(&first, &before));
    lease_failed(&lease, false, START + 4100);
    assert_int_equal(lease_next(&lease, START + 4400, 1000), LEASE_READ);
    lease_saw(&lease, &before, "1", START + 4410);
    assert_int_equal(lease_next(&lease, START + 4410, 1000), LEASE_UPDATE);
    assert_false(lease_record_eq(&first, &lease.desired));
    lease_failed(&lease, true, START + 4420);
    assert_int_equal(lease_next(&lease, START + 5000, 1000), LEASE_READ);
    lease_saw(&lease, &first, "2", START + 5010);
    assert_int_equal(lease_until_ms(&lease), START + 4000 + 9000);
}

/* What was asked before it was given back is no right, whenever it is seen. */
static void nothing_is_proved_after_a_release(void **state)
{
    (void)state;
    struct lease lease;
    lease_begin(&lease, &lease_rules_default, "a", 0);
    lease_rank(&lease, 0, 0);
    assert_int_equal(lease_next(&lease, START, 1000), LEASE_READ);
    lease_absent(&lease, 0, START);
    assert_int_equal(lease_next(&lease, START, 1000), LEASE_CREATE);
    lease_wrote(&lease, "1", START + 10);
    const struct lease_record before = lease.seen;
    assert_int_equal(lease_next(&lease, START + 4000, 5000), LEASE_UPDATE);
    const struct lease_record renewed = lease.desired;
    lease_failed(&lease, false, START + 4100);
    lease_rank(&lease, LEASE_NO_RANK, START + 4200);
    assert_int_equal(lease_next(&lease, START + 4400, 5400), LEASE_READ);
    lease_saw(&lease, &before, "1", START + 4410);
    assert_int_equal(lease_next(&lease, START + 4410, 5410), LEASE_RELEASE);
    lease_failed(&lease, false, START + 4500);
    lease_rank(&lease, 0, START + 4600);
    assert_int_equal(lease_next(&lease, START + 5000, 6000), LEASE_READ);
    lease_saw(&lease, &renewed, "2", START + 5010);
    assert_int_equal(lease_until_ms(&lease), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pace_is_kept_or_given_back),
        cmocka_unit_test(no_order_of_answers_renews_in_vain),
        cmocka_unit_test(no_two_requests_say_the_same),
        cmocka_unit_test(nothing_is_proved_after_a_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
