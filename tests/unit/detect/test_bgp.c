// SPDX-License-Identifier: Apache-2.0
/* Which sessions are faults, by what BIRD tells of them and what is expected. */
#include <stdio.h>

#include "detect/bgp.h"

#include "found.h"

enum { NOW_MS = 1000000 };

struct fixture {
    struct bird_status bird;
    struct detector_facts facts;
};

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){ .facts = { .bird = &fixture.bird, .wall_ms = NOW_MS } };
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    bird_status_clear(&((struct fixture *)*state)->bird);
    return 0;
}

static struct bgp_peer *add_peer(struct fixture *fx, const char *name, bool established)
{
    struct bgp_peer peer = { .address = "10.0.1.1", .asn = 64600, .established = established };
    (void)snprintf(peer.name, sizeof(peer.name), "%s", name);
    assert_int_equal(vec_push(&fx->bird.peers, peer), 0);
    return &fx->bird.peers.items[fx->bird.peers.count - 1];
}

static void without_a_session_nothing_is_announced(void **state)
{
    struct fixture *fx = *state;
    assert_found("bgp-none", &fx->facts, "bgp-no-session at BIRD\n");
    fx->bird.expect.set = true; /* and none is */
    assert_found("bgp-none", &fx->facts, "");
    fx->bird.expect.set = false;
    add_peer(fx, "tor", false);
    assert_found("bgp-none", &fx->facts, "");
}

static void a_session_that_is_down_is_a_fault(void **state)
{
    struct fixture *fx = *state;
    add_peer(fx, "up", true);
    struct bgp_peer *tor = add_peer(fx, "tor", false);
    assert_found("bgp-sessions", &fx->facts, "bgp-session-down at tor 10.0.1.1\n");
    tor->since_wall_ms = NOW_MS - 9999;
    assert_found("bgp-sessions", &fx->facts, "");
    assert_true(bgp_sessions_may_come_up(&fx->facts));
    tor->since_wall_ms--;
    assert_found("bgp-sessions", &fx->facts, "bgp-session-down at tor 10.0.1.1\n");
    assert_false(bgp_sessions_may_come_up(&fx->facts));
    tor->disabled = true;
    assert_found("bgp-sessions", &fx->facts, "bgp-session-disabled at tor 10.0.1.1\n");
}

static void its_cause_stands_alone(void **state)
{
    struct fixture *fx = *state;
    struct bgp_peer *tor = add_peer(fx, "tor", false);
    static const char *const expected[] = {
        [BGP_LINK_DOWN] = "bgp-interface-down at tor 10.0.1.1\n",
        [BGP_LINK_UNPLUGGED] = "bgp-interface-unplugged at tor 10.0.1.1\n",
        [BGP_LINK_MISSING] = "bgp-interface-missing at tor 10.0.1.1\n",
    };
    (void)snprintf(tor->down_link, sizeof(tor->down_link), "eth0");
    for (size_t how = 0; how < ARRAY_SIZE(expected); how++) {
        tor->down_how = (enum bgp_link_state)how;
        assert_found("bgp-sessions", &fx->facts, expected[how]);
    }
    *tor->down_link = '\0';
    (void)snprintf(tor->last_error, sizeof(tor->last_error), "Neighbor lost");
    (void)snprintf(fx->bird.device_down, sizeof(fx->bird.device_down), "device1");
    assert_found("bgp-sessions", &fx->facts, "bird-device-disabled at device1\n");
    (void)snprintf(tor->last_error, sizeof(tor->last_error), "Socket: Connection refused");
    assert_found("bgp-sessions", &fx->facts,
                 "bird-device-disabled at device1\nbgp-session-down at tor 10.0.1.1\n");
}

static void what_is_expected_counts(void **state)
{
    static const char *const names[] = { "spine" };
    struct fixture *fx = *state;
    add_peer(fx, "tor", false);
    fx->bird.expect = (struct peer_expectation){ .set = true, .names = names, .name_count = 1 };
    assert_found("bgp-sessions", &fx->facts, "bgp-session-missing at spine\n");
    fx->bird.peers.items[0].established = true;
    fx->bird.expect = (struct peer_expectation){ .set = true, .count = 2 };
    assert_found("bgp-sessions", &fx->facts, "bgp-sessions-few at BIRD\n");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(without_a_session_nothing_is_announced),
        ROW(a_session_that_is_down_is_a_fault),
        ROW(its_cause_stands_alone),
        ROW(what_is_expected_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
