// SPDX-License-Identifier: Apache-2.0
/*
 * Proofs in slices: what is proved when, and what counts in the meantime. The proof itself is
 * test_nat_prove.c's; here it says that a row is good unless its name is "bad", or "lost" for lack
 * of a way, and it is not mended. Whoever asks for the time finds it a millisecond later than the
 * last one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_all.h"
#include "engine/nat/proof/nat_proving.h"

enum { ROWS = 100, START_US = 1000000 };

static int64_t now_us = START_US;
static unsigned proofs;
static bool mended;
static char last[32], first[32];

int64_t __wrap_clock_mono_us(void);
int64_t __wrap_clock_mono_us(void)
{
    return now_us += 1000;
}

int nat_prove(struct nat_datapath *datapath, const struct probe_origins *origins,
              const struct nat_row *row, nat_proof_list *list, struct faults *faults,
              bool *ret_lost)
{
    const bool lost = strcmp(row->name, "lost") == 0;
    const bool good = mended || (!lost && strcmp(row->name, "bad") != 0);
    const struct nat_proof proof = {
        .address = row->families[0].frontends.items[0].address,
        .as_planned = good,
        .served = good,
        .why = "wrong",
    };
    (void)datapath, (void)origins;
    *ret_lost = lost;
    (void)snprintf(proofs++ ? last : first, sizeof(last), "%s", row->name);
    if (!good)
        faults_add(faults, row->name, NULL, "wrong");
    return vec_push(list, proof);
}

static struct ip address(unsigned number)
{
    return (struct ip){ .family = IP_V4, .bytes = { 10, 0, 0, (uint8_t)number } };
}

static struct nat_row *row_of(const char *name, unsigned number)
{
    struct nat_row *row = calloc(1, sizeof(*row));
    const struct nat_frontend frontend = { .address = address(number),
                                           .kind = NAT_FRONTEND_LOAD_BALANCER };
    row->namespace = strdup("shop");
    row->name = strdup(name);
    row->family_count = 1;
    row->families[0].family = IP_V4;
    assert_int_equal(vec_push(&row->families[0].frontends, frontend), 0);
    return row;
}

static struct nat_row *add_row(struct nat_engine *engine, const char *name, unsigned number)
{
    struct nat_row *row = row_of(name, number);
    assert_int_equal(sorted_put(&engine->rows, &row), 0);
    return row;
}

static void add_due(struct nat_engine *engine, const char *name, unsigned number)
{
    struct nat_row *row = add_row(engine, name, number);
    assert_int_equal(sorted_put(&engine->to_prove, &row), 0);
}

static void add_many(struct nat_engine *engine)
{
    for (unsigned i = 0; i < ROWS; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "many-%03u", i);
        add_due(engine, name, i);
    }
}

static void all_are_due(struct nat_engine *engine)
{
    for (size_t i = 0; i < engine->rows.count; i++)
        assert_int_equal(sorted_put(&engine->to_prove, sorted_at(&engine->rows, i)), 0);
}

/* One pass's proofs; returns how many there were. */
static unsigned slice(struct nat_engine *engine)
{
    const unsigned before = proofs;
    service_proof_list changes = { 0 };
    ip_list changed = { 0 };
    assert_int_equal(nat_proving_slice(engine, &changes), 0);
    assert_int_equal(nat_proofs_commit(&engine->proofs, &changes, &changed), 0);
    service_proofs_done(&changes);
    vec_done(&changed);
    vec_done(&engine->turns);
    return proofs - before;
}

/* A pass is about to write; `all`: everything. */
static void begin(struct nat_engine *engine, bool all)
{
    engine->work.all = all;
    nat_proving_begin(engine);
}

static bool is_proved(const struct nat_engine *engine, unsigned number)
{
    const struct proof key = { .address = address(number) };
    const struct proof *proof = sorted_find(&engine->proofs.of_addresses, &key);
    return proof && proof->proved;
}

static struct status status;

static int setup(void **state)
{
    static struct nat_engine engine;
    status = (struct status){ .faults = fault_book_new() };
    const struct engine_setup setup = { .status = &status };
    nat_state_init(&engine, &setup);
    engine.node.attached = true;
    proofs = 0;
    mended = false;
    *state = &engine;
    return 0;
}

static int teardown(void **state)
{
    nat_state_done(*state);
    fault_book_free(status.faults);
    return 0;
}

static void many_take_several_slices(void **state)
{
    struct nat_engine *engine = *state;
    unsigned slices = 1, shares;
    add_many(engine);
    shares = slice(engine);
    assert_in_range(shares, 2, ROWS / 4);
    assert_int_equal(engine->to_prove.count, ROWS - shares);
    for (; nat_proving_goes_on(engine); slices++)
        assert_in_range(slice(engine), 1, shares);
    assert_in_range(slices, 5, ROWS);
    assert_int_equal(proofs, ROWS); /* each once */
    for (unsigned i = 0; i < ROWS; i++)
        assert_true(is_proved(engine, i));
}

static void what_was_just_written_comes_first(void **state)
{
    struct nat_engine *engine = *state;
    add_many(engine);
    for (unsigned i = 0; i < 20; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "fresh-%02u", i);
        const struct nat_update turn = { NULL, add_row(engine, name, 200 + i) };
        assert_int_equal(vec_push(&engine->turns, turn), 0);
    }
    const unsigned proved = slice(engine);
    assert_in_range(proved, 2, 10);
    assert_string_equal(first, "fresh-00");
    assert_true(strncmp(last, "fresh-", 6) == 0);
    assert_true(is_proved(engine, 200) && !is_proved(engine, 219) && !is_proved(engine, 0));
    assert_int_equal(engine->to_prove.count, ROWS + 20 - proved);
    while (nat_proving_goes_on(engine))
        (void)slice(engine);
    assert_true(is_proved(engine, 219) && is_proved(engine, 0));
    assert_int_equal(proofs, ROWS + 20);
}

static void proofs_hold_until_their_turn_comes(void **state)
{
    struct nat_engine *engine = *state;
    service_proof_list changes = { 0 };
    ip_list changed = { 0 };
    const struct ip nobodys = address(250), of_first = address(0);
    assert_int_equal(nat_proofs_inherit(&changes, &nobodys), 0);
    assert_int_equal(nat_proofs_inherit(&changes, &of_first), 0);
    assert_int_equal(nat_proofs_commit(&engine->proofs, &changes, &changed), 0);
    vec_done(&changed);
    /* A copy of what was wanted ends none: the round is over, and what is inherited holds. */
    for (int synced = 0; synced <= 1; synced++) {
        status.source.synced = synced;
        if (!synced)
            add_many(engine);
        else
            all_are_due(engine);
        begin(engine, true);
        (void)slice(engine);
        while (nat_proving_goes_on(engine)) {
            assert_true(is_proved(engine, 250) && is_proved(engine, 0));
            (void)slice(engine);
        }
        assert_int_equal(is_proved(engine, 250), !synced);
    }
    assert_true(is_proved(engine, 0));
}

/* The maps may be newer than the copy: a row of it that they do not answer to refutes nothing. */
static void a_copy_refutes_nothing(void **state)
{
    struct nat_engine *engine = *state;
    service_proof_list changes = { 0 };
    ip_list changed = { 0 };
    const struct ip inherited = address(1);
    assert_int_equal(nat_proofs_inherit(&changes, &inherited), 0);
    assert_int_equal(nat_proofs_commit(&engine->proofs, &changes, &changed), 0);
    vec_done(&changed);
    add_due(engine, "bad", 1);
    begin(engine, true);
    (void)slice(engine);
    assert_true(is_proved(engine, 1));
    assert_int_equal(engine->unproved.count, 1);

    /* What the source says does. */
    status.source.synced = true;
    all_are_due(engine);
    begin(engine, true);
    (void)slice(engine);
    assert_false(is_proved(engine, 1));
}

static struct nat_row *row_at(struct nat_engine *engine, const char *name, unsigned number)
{
    struct nat_row *row = add_row(engine, name, number);
    struct nat_port port = { .name = strdup(""), .protocol = PROTOCOL_TCP, .port = 80 };
    const struct nat_endpoint endpoint = {
        { .family = IP_V4, .bytes = { 10, 1, 0, (uint8_t)number } }, 80
    };
    assert_int_equal(vec_push(&port.sets[NAT_SET_CLUSTER], endpoint), 0);
    assert_int_equal(vec_push(&row->families[0].ports, port), 0);
    return row;
}

static void hear_path(struct nat_engine *engine, unsigned number, enum way_fate fate,
                      int64_t now_ms)
{
    struct kernel_events events = { 0 };
    const struct path_change change = {
        .net = { .ip = { .family = IP_V4, .bytes = { 10, 1, 0, (uint8_t)number } }, .length = 32 },
        .fate = fate,
    };
    assert_int_equal(vec_push(&events.paths, change), 0);
    assert_int_equal(nat_paths_hear(&engine->paths, &events, now_ms), 0);
    vec_done(&events.paths);
}

static size_t take_due(struct nat_engine *engine, int64_t now_ms)
{
    assert_int_equal(nat_paths_take_due(&engine->paths, &engine->rows, now_ms, &engine->to_prove),
                     0);
    return engine->to_prove.count;
}

/* Of a route that goes, only rows with an endpoint behind it are proved again, a moment later. */
static void rows_behind_a_lost_way_are_proved_again(void **state)
{
    struct nat_engine *engine = *state;
    const int64_t now_ms = START_US / 1000;
    (void)row_at(engine, "bad", 1);
    (void)row_at(engine, "good", 2);
    hear_path(engine, 1, PATH_WENT, now_ms);
    assert_int_equal(nat_paths_next_ms(&engine->paths), now_ms + NAT_PATH_SETTLE_MS);
    assert_int_equal(take_due(engine, now_ms), 0);
    assert_int_equal(take_due(engine, now_ms + NAT_PATH_SETTLE_MS), 1);
    assert_int_equal(nat_paths_next_ms(&engine->paths), INT64_MAX);
    (void)slice(engine);
    assert_int_equal(fault_book_count(status.faults), 1);
    hear_path(engine, 1, WAY_CAME, now_ms);
    assert_int_equal(take_due(engine, now_ms), 1);
}

/* A pod ends: its interface goes before its slice changes. Another that comes ends the grace. */
static void an_endpoint_that_goes_with_its_interface_has_a_grace(void **state)
{
    struct nat_engine *engine = *state;
    const int64_t now_ms = clock_mono_ms();
    struct nat_row *row = row_at(engine, "bad", 1);
    hear_path(engine, 1, PATH_WENT, now_ms);
    hear_path(engine, 1, PATH_LINK_GONE, now_ms);
    hear_path(engine, 1, PATH_WENT, now_ms);
    assert_int_equal(sorted_put(&engine->to_prove, &row), 0);
    (void)slice(engine);
    assert_int_equal(proofs, 0);
    assert_int_equal(fault_book_count(status.faults), 0);
    assert_int_equal(engine->unproved.count, 1);          /* it is tried again */
    assert_int_equal(take_due(engine, now_ms + 9900), 0); /* slices follow as late as that */
    assert_int_equal(take_due(engine, now_ms + 10100), 1);
    hear_path(engine, 1, PATH_LINK_GONE, now_ms);
    hear_path(engine, 1, WAY_CAME, now_ms);
    (void)slice(engine);
    assert_int_equal(proofs, 1);
    assert_int_equal(fault_book_count(status.faults), 1);
}

/* The pod ended while no agent ran: its slice has a moment to follow. What is proved is the truth.
 */
static void a_way_that_lacks_at_the_start_has_a_grace(void **state)
{
    struct nat_engine *engine = *state;
    add_due(engine, "lost", 1);
    add_due(engine, "bad", 2);
    (void)slice(engine);
    assert_int_equal(proofs, 2);
    assert_false(is_proved(engine, 1));
    assert_int_equal(fault_book_count(status.faults), 1); /* of "bad" */
    assert_int_equal(engine->unproved.count, 2);

    engine->paths.began_ms -= NAT_PATH_BEGIN_MS;
    struct nat_row *row = nat_state_row(engine, "shop", "lost");
    assert_int_equal(sorted_put(&engine->to_prove, &row), 0);
    (void)slice(engine);
    assert_int_equal(fault_book_count(status.faults), 2);
}

static void more_ways_than_can_be_followed_doubt_all(void **state)
{
    struct nat_engine *engine = *state;
    const struct kernel_events events = { .many_paths = true };
    const int64_t now_ms = START_US / 1000;
    add_many(engine);
    sorted_clear(&engine->to_prove);
    assert_int_equal(nat_paths_hear(&engine->paths, &events, now_ms), 0);
    assert_int_equal(take_due(engine, now_ms + NAT_PATH_SETTLE_MS), ROWS);
    assert_int_equal(nat_paths_hear(&engine->paths, &events, now_ms + NAT_PATH_SETTLE_MS), 0);
    assert_int_equal(nat_paths_next_ms(&engine->paths),
                     now_ms + NAT_PATH_SETTLE_MS + NAT_PATHS_ALL_MS);
}

static void a_proof_that_fails_is_a_fault(void **state)
{
    struct nat_engine *engine = *state;
    add_due(engine, "bad", 1);
    add_due(engine, "good", 2);
    (void)slice(engine);
    assert_false(nat_proving_goes_on(engine));
    assert_true(!is_proved(engine, 1) && is_proved(engine, 2));
    assert_int_equal(fault_book_count(status.faults), 1);
    assert_int_equal(engine->unproved.count, 1);

    struct nat_row *bad = *(struct nat_row **)sorted_at(&engine->unproved, 0);
    assert_string_equal(bad->name, "bad");
    mended = true;
    assert_int_equal(sorted_put(&engine->to_prove, &bad), 0);
    (void)slice(engine);
    assert_true(is_proved(engine, 1));
    assert_int_equal(engine->unproved.count, 0);
    assert_int_equal(fault_book_count(status.faults), 0);
}

static void a_lost_hook_takes_all_back_at_once(void **state)
{
    struct nat_engine *engine = *state;
    ip_list changed = { 0 };
    add_due(engine, "one", 1);
    add_due(engine, "two", 2);
    (void)slice(engine);
    engine->node.attached = false;
    assert_int_equal(nat_proving_invalidate(engine, &changed), 0);
    assert_int_equal(changed.count, 2);
    assert_true(!is_proved(engine, 1) && !is_proved(engine, 2));
    vec_done(&changed);
}

static void an_address_that_is_lost_is_taken_back(void **state)
{
    struct nat_engine *engine = *state;
    service_proof_list changes = { 0 };
    ip_list changed = { 0 };
    struct nat_row *old = row_of("web", 1), *after = row_of("web", 2);
    const struct nat_frontend kept = { .address = address(3), .kind = NAT_FRONTEND_EXTERNAL_IP };
    assert_int_equal(vec_push(&old->families[0].frontends, kept), 0);
    assert_int_equal(vec_push(&after->families[0].frontends, kept), 0);
    assert_int_equal(nat_proving_drop_lost(old, after, &changes), 0);
    assert_int_equal(changes.count, 1);
    const struct ip lost = address(1);
    assert_true(changes.items[0].gone && ip_equal(&changes.items[0].address, &lost));
    service_proofs_done(&changes);
    vec_done(&changed);
    nat_row_free(old);
    nat_row_free(after);
    (void)engine;
}

static void add_trigger(struct nat_engine *engine, const char *service)
{
    const struct endpoint_slice slice = {
        .object = { .kind = KIND_ENDPOINT_SLICE, .namespace = "shop", .name = "any" },
        .service = service,
        .family = IP_V4,
        .triggered_ms = INT64_C(4102444800000), /* 2100 */
    };
    const struct change change = { NULL, &slice.object };
    assert_int_equal(nat_triggers_saw(&engine->triggers, &change), 0);
}

static uint64_t samples(void)
{
    uint64_t sum = 0;
    for (size_t i = 0; i <= histogram_programming.count; i++)
        sum += status.nat.programming.counts[i];
    return sum;
}

/* What is proved is one sample; what is not waits; what is no row of ours is forgotten. */
static void programming_ends_with_the_proof(void **state)
{
    struct nat_engine *engine = *state;
    add_due(engine, "bad", 1);
    add_due(engine, "good", 2);
    add_trigger(engine, "bad");
    add_trigger(engine, "good");
    add_trigger(engine, "headless");
    begin(engine, true);
    (void)slice(engine);
    nat_proving_end(engine);
    assert_int_equal(samples(), 1);
    assert_int_equal(engine->triggers.services.count, 1);
    const struct nat_trigger *waits = sorted_at(&engine->triggers.services, 0);
    assert_string_equal(waits->name, "bad");
}

static void a_round_is_counted_once(void **state)
{
    struct nat_engine *engine = *state;
    add_many(engine);
    begin(engine, true);
    const int64_t began_us = now_us;
    while (nat_proving_goes_on(engine)) {
        (void)slice(engine);
        begin(engine, false); /* another pass joins */
    }
    nat_proving_end(engine);
    assert_int_equal(status.nat.full_passes, 1);
    assert_int_equal(status.nat.passes, 1);
    assert_true(status.nat.last_full_pass_us >= now_us - began_us - 1000);

    begin(engine, false);
    nat_proving_end(engine);
    assert_int_equal(status.nat.passes, 1); /* there was nothing to do */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_take_several_slices),
        TEST(what_was_just_written_comes_first),
        TEST(proofs_hold_until_their_turn_comes),
        TEST(a_copy_refutes_nothing),
        TEST(a_proof_that_fails_is_a_fault),
        TEST(a_lost_hook_takes_all_back_at_once),
        TEST(an_address_that_is_lost_is_taken_back),
        TEST(programming_ends_with_the_proof),
        TEST(a_round_is_counted_once),
        TEST(rows_behind_a_lost_way_are_proved_again),
        TEST(an_endpoint_that_goes_with_its_interface_has_a_grace),
        TEST(a_way_that_lacks_at_the_start_has_a_grace),
        TEST(more_ways_than_can_be_followed_doubt_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
