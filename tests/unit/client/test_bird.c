// SPDX-License-Identifier: Apache-2.0
/* The client against a scripted BIRD in the same loop: what it asks, what it makes of the answers.
 */
#include <string.h>

#include "base/clock.h"
#include "bird_fixture.h"

#define OVERFLOW "+Kernel dropped some netlink messages, will resync on next scan.\n"
#define OURS     "where source = RTS_INHERIT && krt_source ~ [30..32, 34..63]"

static void a_poll_asks_and_tells(void **state)
{
    struct fixture *fixture = *state;
    const struct script script[] = {
        { "restrict", "0016 Access restricted\n" },
        { "show status", recording(fixture, "status") },
        { "show protocols all", recording(fixture, "protocols") },
        { "show bfd", recording(fixture, "bfd") },
        { "show route protocol 'agent4'", recording(fixture, "count") },
        { "show route protocol", "1007-2 of 2 routes for 2 networks in table pods6\n0000 \n" },
        { "show route noexport 'tor4' " OURS " count", recording(fixture, "filtered_count") },
        { "show route noexport 'tor4' " OURS, recording(fixture, "filtered") },
        { "show route noexport 'tor6' " OURS " count",
          "1007-0 of 1 routes for 1 networks\n0000 \n" },
    };
    use_script(fixture, script);
    connected(fixture, &patient);

    assert_string_equal(text_str(&fixture->bird.heard),
                        "restrict\n"
                        "echo { info, remote, warning, error, auth, fatal, bug } 4096\n"
                        "show status\n"
                        "show protocols all\n"
                        "show bfd sessions\n"
                        "show route protocol 'agent4' " OURS " count\n"
                        "show route protocol 'agent6' " OURS " count\n"
                        "show route protocol 'main4' " OURS " count\n"
                        "show route export 'tor4' " OURS " count\n"
                        "show route export 'tor6' " OURS " count\n"
                        "show route noexport 'tor4' " OURS " count\n"
                        "show route noexport 'tor6' " OURS " count\n"
                        "show route noexport 'tor4' " OURS "\n");
    const struct bird_facts *facts = &fixture->view->facts;
    assert_int_equal(fixture->changes, 1);
    assert_true(fixture->view->log_heard);
    assert_string_equal(facts->version, "2.0.12");
    assert_int_equal(facts->learned[BIRD_IPV4], 6 + 2);
    assert_int_equal(facts->learned[BIRD_IPV6], 2);
    assert_int_equal(facts->sessions.count, 4); /* without the listener */
    const struct bird_session *tor4 = &facts->sessions.items[0], *gone = &facts->sessions.items[2];
    assert_string_equal(tor4->protocol.name, "tor4");
    assert_string_equal(tor4->bfd, "Up");
    assert_int_equal(tor4->filtered, 3);
    assert_true(tor4->listed);
    assert_int_equal(tor4->networks.count, 3);
    assert_int_equal(facts->sessions.items[1].filtered, 0);
    assert_true(facts->sessions.items[1].listed);
    assert_string_equal(gone->bfd, "Down");
    assert_int_equal(gone->filtered, -1);
}

/*
 * What BIRD calls local time may be any zone; a session 26 s old is 26 s old. The recording's clock
 * differs from ours by any amount, which is taken for a zone of whole minutes.
 */
static void times_are_wall_time(void **state)
{
    struct fixture *fixture = *state;
    const struct script script[] = {
        { "show status", recording(fixture, "status") },
        { "show protocols all", recording(fixture, "protocols") },
    };
    use_script(fixture, script);
    connected(fixture, &patient);
    int64_t age_ms = clock_wall_ms() - fixture->view->facts.sessions.items[0].since_wall_ms;
    assert_in_range(age_ms + MINUTE_MS, 55 * SECOND_MS, 117 * SECOND_MS);
}

static void another_major_version_is_read(void **state)
{
    struct fixture *fixture = *state;
    static const char refused[] = "9001 syntax error, unexpected CF_SYM_UNDEFINED\n";
    const struct script script[] = {
        { "echo", refused },
        { "show status", recording(fixture, "v3_status") },
        { "show protocols all", recording(fixture, "v3_protocols") },
        { "show bfd", refused },
        { "show route", refused },
    };
    use_script(fixture, script);
    fixture->bird.greeting = "0001 BIRD 3.1.2 ready.\n";
    connected(fixture, &patient);
    const struct bird_facts *facts = &fixture->view->facts;
    assert_string_equal(facts->version, "3.1.2");
    assert_false(fixture->view->log_heard);
    assert_int_equal(facts->sessions.count, 1);
    assert_int_equal(facts->sessions.items[0].filtered, -1);
    assert_false(facts->sessions.items[0].listed);
    assert_int_equal(facts->learned[BIRD_IPV4], -1);
    assert_int_equal(facts->learned[BIRD_IPV6], 0);
}

static void too_many_to_list(void **state)
{
    struct fixture *fixture = *state;
    const struct script script[] = {
        { "show status", recording(fixture, "status") },
        { "show protocols all", recording(fixture, "protocols") },
        { "show route noexport 'tor4'", "1007-10001 of 20000 routes for 1 networks\n0000 \n" },
    };
    use_script(fixture, script);
    connected(fixture, &patient);
    const struct bird_session *tor4 = &fixture->view->facts.sessions.items[0];
    assert_int_equal(tor4->filtered, 10001);
    assert_false(tor4->listed);
    assert_int_equal(tor4->networks.count, 0);
}

static void polls_repeat(void **state)
{
    struct fixture *fixture = *state;
    connected(fixture, &brisk);
    run_until(fixture, fixture->changes >= 3);
    assert_int_equal(fixture->bird.connections, 1);
    assert_true(fixture->view->reachable);
}

#define COUNTING                                                                    \
    "1002-k4 Kernel t up 10:00:00.000\n1006-  Channel ipv4\n"                       \
    "       Import updates:   %s   0   0   0   2\n"                                 \
    "1002-tor BGP --- up 10:00:00.000 Established\n1006-  BGP state: Established\n" \
    "     Hold timer:       27.304/30\n   Channel ipv4\n     Output filter: f\n"    \
    "       Export updates:   2   0   0   ---   2\n0000 \n"

static unsigned routes_asked(const struct fixture *fixture)
{
    unsigned count = 0;
    const char *at = text_str(&fixture->bird.heard);
    while ((at = strstr(at, "show route"))) {
        count++;
        at++;
    }
    return count;
}

static void poll_once_more(struct fixture *fixture)
{
    unsigned before = fixture->changes;
    bird_client_poll_soon(fixture->client);
    run_until(fixture, fixture->changes > before);
}

/* BIRD goes through its tables only if its own counters say that something has changed. */
static void routes_are_asked_for_when_they_changed(void **state)
{
    struct fixture *fixture = *state;
    AUTOFREE char *before = text_format(COUNTING, "2"), *after = text_format(COUNTING, "3");
    struct script script[] = {
        { "show status", "1011-Last reconfiguration on 2026-11-24 08:00:00\n0013 up\n" },
        { "show protocols all", before },
        { "show route protocol", "1007-2 of 2 routes for 2 networks\n0000 \n" },
        { "show route noexport 'tor' " OURS " count",
          "1007-1 of 2 routes for 2 networks\n0000 \n" },
        { "show route noexport", "1007-10.0.0.1/32 x\n0000 \n" },
    };
    use_script(fixture, script);
    connected(fixture, &patient);
    assert_int_equal(routes_asked(fixture), 4);
    poll_once_more(fixture);
    assert_int_equal(routes_asked(fixture), 4);
    const struct bird_facts *facts = &fixture->view->facts;
    assert_int_equal(facts->learned[BIRD_IPV4], 2);
    assert_int_equal(facts->sessions.items[0].filtered, 1);
    assert_true(facts->sessions.items[0].listed);
    assert_int_equal(facts->sessions.items[0].networks.count, 1);
    assert_int_equal(facts->sessions.items[0].protocol.hold_left_ms, 27 * SECOND_MS);
    assert_int_equal(facts->sessions.items[0].protocol.hold_ms, 30 * SECOND_MS);

    script[1].reply = after; /* a route came */
    poll_once_more(fixture);
    assert_int_equal(routes_asked(fixture), 8);
    script[0].reply = "1011-Last reconfiguration on 2026-11-24 08:00:01\n0013 up\n";
    poll_once_more(fixture);
    assert_int_equal(routes_asked(fixture), 12);
    poll_once_more(fixture);
    assert_int_equal(routes_asked(fixture), 12);
}

static void a_poll_comes_soon_when_asked(void **state)
{
    struct fixture *fixture = *state;
    connected(fixture, &patient);
    assert_int_equal(fixture->changes, 1);
    for (int i = 0; i < 100; i++)
        bird_client_poll_soon(fixture->client);
    run_until(fixture, fixture->changes == 2);

    /* Asked while one is going on: another one follows. */
    bird_client_poll_soon(fixture->client);
    size_t heard = fixture->bird.heard.length;
    run_until(fixture, fixture->bird.heard.length > heard);
    bird_client_poll_soon(fixture->client);
    run_until(fixture, fixture->changes == 4);
}

static void overflows_are_heard(void **state)
{
    struct fixture *fixture = *state;
    const struct script script[] = { { "show status", OVERFLOW "0013 up\n" } };
    connected(fixture, &patient);
    assert_int_equal(fixture->view->overflows, 0);
    fake_bird_say(&fixture->bird, OVERFLOW "+Something else\n");
    run_until(fixture, fixture->view->overflows == 1);
    run_until(fixture, fixture->changes == 2); /* it asked again */

    use_script(fixture, script);
    bird_client_poll_soon(fixture->client);
    run_until(fixture, fixture->view->overflows >= 2); /* in the middle of a poll */
    assert_true(fixture->view->last_overflow_mono_ms <= clock_mono_ms());

    /* What was before a restart of BIRD is over. */
    fixture->script_length = 0;
    fake_bird_hang_up(&fixture->bird);
    run_until(fixture, !fixture->view->reachable);
    assert_int_equal(fixture->view->overflows, 0);
}

static void news_in_the_log_bring_a_poll_forward(void **state)
{
    struct fixture *fixture = *state;
    static const char *const news[] = { "+Reconfigured\n", "+Disabling protocol tor4\n",
                                        "+tor4: Received: Administrative shutdown\n",
                                        "+tor4: Error: Hold timer expired\n" };
    connected(fixture, &patient);
    for (size_t i = 0; i < ARRAY_SIZE(news); i++) {
        unsigned before = fixture->changes;
        fake_bird_say(&fixture->bird, news[i]);
        run_until(fixture, fixture->changes > before);
    }
    assert_int_equal(fixture->lines_heard, ARRAY_SIZE(news));
    assert_string_equal(fixture->last_line, "tor4: Error: Hold timer expired");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_poll_asks_and_tells, setup, teardown),
        cmocka_unit_test_setup_teardown(times_are_wall_time, setup, teardown),
        cmocka_unit_test_setup_teardown(another_major_version_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_to_list, setup, teardown),
        cmocka_unit_test_setup_teardown(polls_repeat, setup, teardown),
        cmocka_unit_test_setup_teardown(routes_are_asked_for_when_they_changed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_poll_comes_soon_when_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(overflows_are_heard, setup, teardown),
        cmocka_unit_test_setup_teardown(news_in_the_log_bring_a_poll_forward, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
