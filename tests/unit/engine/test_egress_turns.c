// SPDX-License-Identifier: Apache-2.0
/* What gateways are taken for by their answers to probes, and how a gateway itself goes out of
 * service. */
#include "cmocka_all.h"
#include "engine/egress/egress_drain.h"
#include "engine/egress/egress_probes.h"
#include "engine/egress/egress_pulse.h"

enum { NOW_MS = 3600 * 1000 };

static const struct ip first = { .family = IP_V4, .bytes = { 192, 0, 2, 1 } };
static const struct ip second = { .family = IP_V6, .bytes = { [15] = 2 } };

struct fixture {
    struct probes probes;
    uint64_t cookie; /* of the last question to `first` */
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    probes_init(&fixture->probes);
    assert_int_equal(probes_add(&fixture->probes, &first, PROBE_UNKNOWN, 0x1234567890abcdef), 0);
    assert_int_equal(probes_add(&fixture->probes, &second, PROBE_UNKNOWN, 0xfedcba0987654321), 0);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    probes_done(&fixture->probes);
    free(fixture);
    return 0;
}

/* Asks both; returns whether a verdict is another one. */
static bool ask(struct fixture *fixture)
{
    bool moved = false;
    sorted_each(struct probed_gateway, gateway, &fixture->probes.gateways) {
        uint64_t cookie = probes_ask(gateway, &moved);
        if (ip_equal(&gateway->address, &first))
            fixture->cookie = cookie;
    }
    return moved;
}

static bool answer(struct fixture *fixture, enum egress_phase phase)
{
    return probes_hear(&fixture->probes, &first, fixture->cookie, phase, NOW_MS);
}

static void expect(const struct fixture *fixture, enum probe_verdict verdict)
{
    assert_int_equal(probes_verdict(&fixture->probes, &first), verdict);
}

/* How many questions go without an answer until the verdict is another one. */
static int misses(struct fixture *fixture)
{
    int count = 0;
    while (!ask(fixture)) {
        count++;
        assert_true(count < 100);
    }
    return count;
}

static void test_who_never_answers(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 100; i++)
        assert_false(ask(fixture));
    expect(fixture, PROBE_UNKNOWN);
}

static void test_fails_and_comes_back(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture);
    assert_true(answer(fixture, EGRESS_SERVING));
    expect(fixture, PROBE_ALIVE);
    assert_int_equal(misses(fixture), PROBES_DOUBTED);
    expect(fixture, PROBE_DOUBTED);
    assert_int_equal(misses(fixture), PROBES_LOST - PROBES_DOUBTED - 1);
    expect(fixture, PROBE_LOST);
    for (int i = 1; i < PROBES_BACK; i++) {
        assert_false(ask(fixture));
        assert_false(answer(fixture, EGRESS_SERVING));
    }
    assert_false(ask(fixture));
    assert_true(answer(fixture, EGRESS_SERVING));
    expect(fixture, PROBE_ALIVE);
    assert_int_equal(probes_verdict(&fixture->probes, &second), PROBE_UNKNOWN);
}

/* Every other answer is lost: it is neither dead nor quite alive. */
static void test_half_alive(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture);
    answer(fixture, EGRESS_SERVING);
    (void)misses(fixture);
    for (int i = 0; i < 20; i++) {
        ask(fixture);
        ask(fixture);
        answer(fixture, EGRESS_SERVING);
        expect(fixture, PROBE_DOUBTED);
    }
}

static void test_only_true_answers(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture);
    assert_false(probes_hear(&fixture->probes, &first, fixture->cookie ^ (1ULL << 40),
                             EGRESS_SERVING, NOW_MS));
    assert_false(probes_hear(&fixture->probes, &second, fixture->cookie, EGRESS_SERVING, NOW_MS));
    uint64_t old = fixture->cookie;
    for (int i = 0; i < 8; i++)
        ask(fixture);
    assert_false(probes_hear(&fixture->probes, &first, old, EGRESS_SERVING, NOW_MS));
    assert_true(probes_hear(&fixture->probes, &first, old + 1, EGRESS_SERVING, NOW_MS));
    assert_false(
        probes_hear(&fixture->probes, &first, fixture->cookie + 1, EGRESS_SERVING, NOW_MS));
}

static void test_what_it_says(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture);
    assert_true(answer(fixture, EGRESS_LEAVING_SERVICE));
    expect(fixture, PROBE_LEAVING);
    assert_true(answer(fixture, EGRESS_OUT_OF_SERVICE));
    expect(fixture, PROBE_GONE);
    assert_true(answer(fixture, EGRESS_SERVING));
    expect(fixture, PROBE_ALIVE);
}

/* One that stays in the list keeps what is known of it. */
static void test_another_list(void **state)
{
    struct fixture *fixture = *state;
    ask(fixture);
    answer(fixture, EGRESS_SERVING);
    probes_begin_list(&fixture->probes);
    assert_int_equal(probes_add(&fixture->probes, &first, PROBE_LOST, 99), 0);
    probes_end_list(&fixture->probes);
    expect(fixture, PROBE_ALIVE);
    assert_int_equal(fixture->probes.gateways.count, 1);
    probes_begin_list(&fixture->probes);
    assert_int_equal(probes_add(&fixture->probes, &second, PROBE_LOST, 99), 0);
    probes_end_list(&fixture->probes);
    assert_int_equal(probes_verdict(&fixture->probes, &second), PROBE_LOST);
    expect(fixture, PROBE_UNKNOWN);
}

/* Known is who came before the last heartbeat that the gateway may have had. */
static void test_up_to_when_it_learns(void **state)
{
    struct fixture *fixture = *state;
    const int64_t stale_ms = NOW_MS - (EGRESS_STALE_S + 1) * 1000;
    assert_true(probes_known_ms(&fixture->probes) == INT64_MAX);
    ask(fixture);
    assert_true(answer(fixture, EGRESS_STALE_SERVICE));
    expect(fixture, PROBE_STALE);
    assert_true(probes_known_ms(&fixture->probes) < 0); /* it has never learned of any */
    assert_true(answer(fixture, EGRESS_SERVING));
    assert_true(probes_known_ms(&fixture->probes) == INT64_MAX);
    assert_true(answer(fixture, EGRESS_STALE_SERVICE));
    assert_true(probes_known_ms(&fixture->probes) == stale_ms);
    assert_int_equal(misses(fixture), PROBES_DOUBTED);
    for (int i = 0; i < PROBES_BACK; i++) {
        ask(fixture);
        (void)probes_hear(&fixture->probes, &first, fixture->cookie, EGRESS_STALE_SERVICE,
                          NOW_MS + 60000);
    }
    expect(fixture, PROBE_STALE);
    assert_true(probes_known_ms(&fixture->probes) == stale_ms); /* it is the same silence */
}

static void test_source(void **state)
{
    (void)state;
    struct status status = { .source.synced = true };
    struct kube_kind_status *kinds = status.source.kube.kinds;
    assert_true(egress_source_follows(&status));
    kinds[0] = (struct kube_kind_status){ .kind = "Service", .state = KUBE_WAITING };
    kinds[1] = (struct kube_kind_status){ .kind = "Pod", .state = KUBE_WATCHING };
    kinds[2] = (struct kube_kind_status){ .kind = "Egress", .state = KUBE_WATCHING };
    status.source.kube.count = 3;
    assert_true(egress_source_follows(&status));
    for (size_t i = 1; i < 3; i++) {
        kinds[i].state = KUBE_WAITING;
        assert_false(egress_source_follows(&status));
        kinds[i].state = KUBE_WATCHING;
    }
    status.source.synced = false;
    assert_false(egress_source_follows(&status));
}

/* ---- drain ---- */

static int64_t follow(struct egress_drain *drain, enum standing standing, int64_t now_ms,
                      uint64_t established)
{
    const struct egress_drain_facts facts = {
        .standing = standing,
        .now_ms = now_ms,
        .lasts_ms = 60000,
        .established = established,
    };
    return egress_drain_follow(drain, &facts);
}

static void test_drain_waits_for_connections(void **state)
{
    (void)state;
    struct egress_drain drain = { 0 };
    assert_int_equal(follow(&drain, STANDING_SERVING, 1000, 5), INT64_MAX);
    assert_int_equal(follow(&drain, STANDING_DRAINING, 2000, 5), 4000);
    assert_int_equal(drain.phase, EGRESS_GATE_LEAVING);
    assert_int_equal(follow(&drain, STANDING_DRAINING, 3999, 0), 4000);
    assert_int_equal(drain.phase, EGRESS_GATE_LEAVING);
    assert_int_equal(follow(&drain, STANDING_DRAINING, 4000, 5), 4250);
    assert_int_equal(drain.phase, EGRESS_GATE_CLOSED);
    /* The node's own drain is over before: the gateway's goes on. */
    assert_int_equal(follow(&drain, STANDING_WITHDRAWN, 40000, 1), 40250);
    assert_int_equal(drain.phase, EGRESS_GATE_CLOSED);
    assert_int_equal(follow(&drain, STANDING_WITHDRAWN, 40250, 0), INT64_MAX);
    assert_int_equal(drain.phase, EGRESS_GATE_GONE);
    assert_int_equal(follow(&drain, STANDING_SERVING, 41000, 0), INT64_MAX);
    assert_int_equal(drain.phase, EGRESS_GATE_OPEN);
}

static void test_drain_ends(void **state)
{
    (void)state;
    struct egress_drain drain = { 0 };
    follow(&drain, STANDING_DRAINING, 0, 5);
    follow(&drain, STANDING_DRAINING, 2000, 5);
    assert_int_equal(follow(&drain, STANDING_WITHDRAWN, 59900, 5), 60000);
    assert_int_equal(follow(&drain, STANDING_WITHDRAWN, 60000, 5), INT64_MAX);
    assert_int_equal(drain.phase, EGRESS_GATE_GONE);
}

static void test_withdrawn_at_once(void **state)
{
    (void)state;
    struct egress_drain drain = { 0 };
    follow(&drain, STANDING_WITHDRAWN, 1000, 5);
    assert_int_equal(drain.phase, EGRESS_GATE_GONE);
    drain = (struct egress_drain){ EGRESS_GATE_CLOSED, 500 };
    follow(&drain, STANDING_GONE, 1000, 5);
    assert_int_equal(drain.phase, EGRESS_GATE_GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_who_never_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fails_and_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_half_alive, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_true_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_it_says, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_list, setup, teardown),
        cmocka_unit_test_setup_teardown(test_up_to_when_it_learns, setup, teardown),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_drain_waits_for_connections),
        cmocka_unit_test(test_drain_ends),
        cmocka_unit_test(test_withdrawn_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
