// SPDX-License-Identifier: Apache-2.0
/*
 * From what a scripted BIRD says to status and faults. The monotonic clock can be put forward (the
 * linker wraps clock_mono_ms()), so that nothing has to wait for seconds.
 */
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "../client/fake_bird.h"
#include "../client/recording.h"
#include "base/clock.h"
#include "bgp/bgp.h"
#include "cmocka_all.h"
#include "plan/link_table.h"
#include "plan/routes/route_table.h"

#define GREETING "0001 BIRD 2.0.12 ready.\n"
#define OVERFLOW "+Kernel dropped some netlink messages, will resync on next scan.\n"
#define ONE_PEER                                                        \
    "1002-tor4 BGP --- up 10:00:00.000 Established\n"                   \
    "1006-  BGP state: Established\n     Neighbor address: 10.0.1.1\n"  \
    "     Neighbor AS: 64600\n   Channel ipv4\n     Output filter: f\n" \
    "     Routes: 1 imported, 2 exported, 0 preferred\n0000 \n"

/* No poll comes but when asked for, no reply is late. */
static const struct bird_timing patient = {
    .poll_ms = 3600000,
    .soon_ms = 1,
    .reply_ms = 60000,
    .stuck_ms = 60000,
    .retry_initial_ms = 1,
    .retry_max_ms = 4,
};

struct fixture {
    sd_event *event;
    struct fake_bird bird;
    struct bgp *bgp;
    struct status status;
    struct sorted installed, links, addresses;
    struct config *config;
    unsigned changes;
    /* What BIRD says; NULL: that it is done. */
    const char *server, *protocols, *filtered;
    int learned, filtered_count;
    char reply[4096], *recorded;
};

static int64_t ahead_ms;

int64_t __real_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void);

int64_t __wrap_clock_mono_ms(void)
{
    return __real_clock_mono_ms() + ahead_ms;
}

static void on_changed(void *context)
{
    struct fixture *fixture = context;
    fixture->changes++;
}

static const char *count_reply(struct fixture *fixture, int count)
{
    (void)snprintf(fixture->reply, sizeof(fixture->reply),
                   "1007-%d of 9 routes for 9 networks in table t\n0000 \n", count);
    return fixture->reply;
}

static const char *answer(const char *command, void *context)
{
    struct fixture *fixture = context;
    bool count = strstr(command, " count") != NULL;
    if (strcmp(command, "show status") == 0 && fixture->server)
        return fixture->server;
    if (strcmp(command, "show protocols all") == 0 && fixture->protocols)
        return fixture->protocols;
    if (strncmp(command, "show route protocol", 19) == 0)
        return count_reply(fixture, fixture->learned);
    if (strncmp(command, "show route noexport", 19) == 0)
        return count ? count_reply(fixture, fixture->filtered_count) : fixture->filtered;
    return "0000 \n";
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    assert_true(sd_event_new(&fixture->event) >= 0);
    fake_bird_init(&fixture->bird, fixture->event);
    fixture->bird.greeting = GREETING;
    fixture->bird.answer = answer;
    fixture->bird.context = fixture;
    fake_bird_start(&fixture->bird);
    fixture->installed = (struct sorted)SORTED(struct route, route_cmp);
    fixture->links = (struct sorted)SORTED(struct link, link_cmp);
    fixture->addresses = (struct sorted)SORTED(struct link_address, link_address_cmp);
    fixture->status.faults = fault_book_new();
    assert_non_null(fixture->status.faults);
    assert_int_equal(config_default("/nowhere", &fixture->config), 0);
    const struct bgp_options options = {
        .event = fixture->event,
        .status = &fixture->status,
        .installed = &fixture->installed,
        .links = &fixture->links,
        .addresses = &fixture->addresses,
        .timing = &patient,
        .changed = on_changed,
        .context = fixture,
    };
    assert_int_equal(bgp_new(&options, &fixture->bgp), 0);
    ahead_ms = 0;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    bgp_free(fixture->bgp);
    fake_bird_done(&fixture->bird);
    fault_book_free(fixture->status.faults);
    sorted_done(&fixture->installed);
    sorted_done(&fixture->links);
    sorted_done(&fixture->addresses);
    config_free(fixture->config);
    sd_event_unref(fixture->event);
    free(fixture->recorded);
    free(fixture);
    return 0;
}

static void add_route(struct fixture *fixture, const char *prefix, uint8_t protocol)
{
    struct route route = { .table = 119, .type = RTN_BLACKHOLE, .protocol = protocol };
    assert_int_equal(prefix_parse(prefix, &route.prefix), 0);
    assert_int_equal(sorted_put(&fixture->installed, &route), 0);
}

static void configure(struct fixture *fixture, const char *socket)
{
    free(fixture->config->bird.socket);
    fixture->config->bird.socket = socket ? strdup(socket) : NULL;
    assert_int_equal(bgp_configure(fixture->bgp, fixture->config), 0);
}

/* Runs until BIRD's state has changed once more. */
static void await_change(struct fixture *fixture)
{
    unsigned before = fixture->changes;
    for (int i = 0; fixture->changes == before; i++) {
        assert_true(i < 100000);
        assert_true(sd_event_run(fixture->event, 10 * 1000 * 1000) > 0);
    }
}

/* A pass has changed routes some seconds later: BIRD is asked again at once. */
static void pass_and_await(struct fixture *fixture, int64_t later_ms)
{
    ahead_ms += later_ms;
    fixture->status.routes.added++;
    bgp_passed(fixture->bgp);
    await_change(fixture);
}

/* All faults as "place: message|". */
static void assert_faults(struct fixture *fixture, const char *expected)
{
    AUTOTEXT struct text out = { 0 };
    for (size_t i = 0; i < fault_book_count(fixture->status.faults); i++) {
        const struct known_fault *fault = fault_book_at(fixture->status.faults, i);
        assert_string_equal(fault->subsystem, "bgp");
        assert_non_null(fault->remedy);
        text_addf(&out, "%s: %s|", fault->place, fault->message);
    }
    assert_string_equal(text_str(&out), expected);
}

static void without_a_socket_nobody_is_asked(void **state)
{
    struct fixture *fixture = *state;
    configure(fixture, NULL);
    bgp_passed(fixture->bgp);
    assert_null(fixture->status.bird.socket);
    assert_int_equal(fixture->status.bird.learned[BGP_IPV4], -1);
    assert_int_equal(sd_event_run(fixture->event, 0), 0);
}

static void sessions_become_peers_and_faults(void **state)
{
    struct fixture *fixture = *state;
    size_t size;
    fixture->recorded = recording_read("protocols", &size);
    fixture->protocols = fixture->recorded;
    configure(fixture, fixture->bird.path);
    await_change(fixture);

    const struct bird_status *bird = &fixture->status.bird;
    assert_true(bird->reachable && bird->log_heard);
    assert_string_equal(bird->version, "2.0.12");
    assert_int_equal(bird->peers.count, 4);
    assert_int_equal(bird_established(bird), 2);
    assert_int_equal(bird_announced(bird), 4);
    const struct bgp_peer *tor4 = &bird->peers.items[0], *gone = &bird->peers.items[2];
    assert_string_equal(tor4->name, "tor4");
    assert_int_equal(tor4->announced, 3);
    assert_true(tor4->exports[BGP_IPV4] && !tor4->exports[BGP_IPV6]);
    assert_int_equal(gone->announced, -1);
    assert_false(gone->disabled);
    assert_true(bird->peers.items[3].disabled);
    assert_faults(fixture, "gone 10.99.1.77: the session with AS 64601 is down: "
                           "Socket: No route to host|"
                           "resting 10.99.1.78: the session is disabled in BIRD|");
}

/* A session that has begun just now: BIRD's clock is this machine's, read as local time. */
static void routes_that_lead_to_another_host(void **state)
{
    struct fixture *fixture = *state;
    struct link_address address = { .ifindex = 2, .length = 64 };
    size_t size;
    fixture->recorded = recording_read("protocols", &size);
    fixture->protocols = fixture->recorded;
    assert_int_equal(ip_parse("fd99:1::2", &address.ip), 0);
    assert_int_equal(sorted_put(&fixture->addresses, &address), 0);
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    assert_faults(fixture,
                  "tor4: it gives this peer routes that lead to 10.99.1.2, which no "
                  "interface of this node has|"
                  "gone 10.99.1.77: the session with AS 64601 is down: Socket: No route to "
                  "host|"
                  "resting 10.99.1.78: the session is disabled in BIRD|");
}

static void a_session_may_take_a_moment_to_come_up(void **state)
{
    struct fixture *fixture = *state;
    char now[CLOCK_STRLEN];
    (void)clock_rfc3339(clock_wall_ms(), now);
    now[10] = ' ';
    now[19] = '\0';
    AUTOFREE char *protocols = text_format(
        "1002-tor4 BGP --- start %s Connect\n1006-  BGP state: Connect\n     Neighbor address: "
        "10.0.1.1\n     Neighbor AS: 64600\n0000 \n",
        now);
    AUTOFREE char *server = text_format("1011-Current server time is %s.000\n0013 up\n", now);
    fixture->protocols = protocols;
    fixture->server = server;
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    assert_faults(fixture, "");
    await_change(fixture); /* it is looked at again by itself */

    AUTOFREE char *failed = text_format(
        "1002-tor4 BGP --- start %s Connect Socket: No\n1006-  BGP state: Connect\n"
        "     Neighbor address: 10.0.1.1\n     Neighbor AS: 64600\n     Last error: Socket: No\n"
        "0000 \n",
        now);
    fixture->protocols = failed;
    await_change(fixture);
    assert_faults(fixture, "tor4 10.0.1.1: the session with AS 64600 is down: Socket: No|");
}

static void bird_away_is_the_only_fault(void **state)
{
    struct fixture *fixture = *state;
    size_t size;
    fixture->recorded = recording_read("protocols", &size);
    fixture->protocols = fixture->recorded;
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    fake_bird_kill(&fixture->bird);
    await_change(fixture);
    const struct bird_status *bird = &fixture->status.bird;
    assert_false(bird->reachable);
    assert_true(bird->error[0] && bird->since_wall_ms > 0);
    assert_int_equal(bird->peers.count, 0);
    assert_non_null(bird->socket);
    AUTOFREE char *silence = text_format(
        "%s: what is announced is not known: BIRD closed the connection|", fixture->bird.path);
    assert_faults(fixture, silence);
}

static void count_changes(enum fault_change change, const struct known_fault *fault, void *context)
{
    (void)change;
    (void)fault;
    ++*(unsigned *)context;
}

/* What goes on is not let go in between, however often BIRD is asked. */
static void an_old_bird_is_told_once(void **state)
{
    struct fixture *fixture = *state;
    unsigned changes = 0;
    fixture->bird.greeting = "0001 BIRD 1.6.8 ready.\n";
    fixture->protocols = ONE_PEER;
    fault_book_watch(fixture->status.faults, count_changes, &changes);
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    for (int i = 0; i < 3; i++)
        pass_and_await(fixture, 1000);
    assert_int_equal(fault_book_count(fixture->status.faults), 1);
    assert_string_equal(known_fault_code(fault_book_at(fixture->status.faults, 0)), "bird-too-old");
    assert_int_equal(changes, 1);
    fault_book_watch(fixture->status.faults, NULL, NULL);
}

static void filtered_routes_of_ours_are_named(void **state)
{
    struct fixture *fixture = *state;
    fixture->protocols = ONE_PEER;
    fixture->filtered_count = 8;
    fixture->filtered = "1007-Table t:\n 10.0.0.1/32 x\n 10.0.0.2/32 x\n 10.0.0.3/32 x\n"
                        " 10.0.0.4/32 x\n 10.0.0.5/32 x\n 10.0.0.6/32 x\n 10.0.0.7/32 x\n"
                        " 10.9.9.9/32 x\n0000 \n";
    for (int i = 1; i <= 7; i++) {
        char prefix[PREFIX_STRLEN];
        (void)snprintf(prefix, sizeof(prefix), "10.0.0.%d/32", i);
        add_route(fixture, prefix, i == 3 ? RTPROT_STATIC : ROUTE_PROTOCOL_SERVICE);
    }
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    assert_faults(fixture, "tor4: 6 routes of table 119 are filtered, this peer does not get them: "
                           "10.0.0.1/32, 10.0.0.2/32, 10.0.0.4/32, 10.0.0.5/32, 10.0.0.6/32 "
                           "and 1 more|");
    const struct bgp_peer *peer = fixture->status.bird.peers.items;
    assert_int_equal(peer->filtered, 8);
    struct prefix kept, sent;
    assert_int_equal(prefix_parse("10.0.0.1/32", &kept), 0);
    assert_int_equal(prefix_parse("10.0.0.8/32", &sent), 0);
    fixture->status.bird.learned[BGP_IPV4] = fixture->status.bird.expected[BGP_IPV4];
    assert_int_equal(peer_export_of(&fixture->status.bird, peer, &kept), PEER_FILTERED);
    assert_int_equal(peer_export_of(&fixture->status.bird, peer, &sent), PEER_EXPORTED);
    fixture->status.bird.learned[BGP_IPV4]--;
    assert_int_equal(peer_export_of(&fixture->status.bird, peer, &sent), PEER_UNKNOWN);

    fixture->filtered_count = 0;
    pass_and_await(fixture, 1000);
    assert_int_equal(fixture->status.bird.peers.items[0].filtered, 0);
}

/* With a session that takes both families, so that there is no other fault. */
#define ONE_KERNEL                                                                     \
    "1002-k4 Kernel t up 10:00:00.000\n1006-  Channel ipv4\n     Routes: 2 imported\n" \
    "1002-tor BGP --- up 10:00:00.000 Established\n1006-  BGP state: Established\n"    \
    "     Neighbor address: 10.0.1.1\n     Neighbor AS: 64600\n"                       \
    "   Channel ipv4\n     Output filter: f\n   Channel ipv6\n     Output filter: f\n0000 \n"

static void missing_routes_are_a_fault_once_nothing_moves(void **state)
{
    struct fixture *fixture = *state;
    static const char lacks[] = "IPv4: BIRD has not learned all IPv4 routes of table 119|";
    fixture->protocols = ONE_KERNEL;
    fixture->learned = 1;
    add_route(fixture, "10.0.0.1/32", ROUTE_PROTOCOL_SERVICE);
    add_route(fixture, "10.0.0.2/32", ROUTE_PROTOCOL_BLOCK);
    add_route(fixture, "10.0.0.3/32", RTPROT_STATIC);
    add_route(fixture, "fd00::1/128", RTPROT_STATIC);
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    assert_int_equal(fixture->status.bird.expected[BGP_IPV4], 2);
    assert_int_equal(fixture->status.bird.expected[BGP_IPV6], 0);
    assert_int_equal(fixture->status.bird.learned[BGP_IPV4], 1);
    assert_faults(fixture, "");
    pass_and_await(fixture, 100);
    assert_faults(fixture, "");
    pass_and_await(fixture, 800);
    assert_faults(fixture, lacks);

    fixture->learned = 2;
    pass_and_await(fixture, 1000);
    assert_faults(fixture, "");

    /* The time counts anew. */
    fixture->learned = 3;
    pass_and_await(fixture, 6000);
    assert_faults(fixture, "");
    pass_and_await(fixture, 800);
    assert_faults(fixture, "IPv4: BIRD still has IPv4 routes that are gone from table 119|");
}

/* While BIRD catches up, it lacks another number of routes each time. */
static void numbers_that_move_may_differ_for_some_seconds(void **state)
{
    struct fixture *fixture = *state;
    fixture->protocols = ONE_KERNEL;
    fixture->learned = 100;
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    for (int i = 0; i < 4; i++) {
        fixture->learned--;
        pass_and_await(fixture, 1000);
        assert_faults(fixture, "");
    }
    fixture->learned--;
    pass_and_await(fixture, 1000);
    assert_faults(fixture, "IPv4: BIRD still has IPv4 routes that are gone from table 119|");
}

static void a_family_that_bird_does_not_read(void **state)
{
    struct fixture *fixture = *state;
    fixture->protocols = ONE_KERNEL;
    add_route(fixture, "fd00::1/128", ROUTE_PROTOCOL_SERVICE);
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    pass_and_await(fixture, 5000);
    assert_faults(fixture, "IPv6: BIRD has learned no IPv6 route of table 119|");
}

static void a_difference_is_looked_at_again_by_itself(void **state)
{
    struct fixture *fixture = *state;
    fixture->protocols = ONE_KERNEL;
    fixture->learned = 1;
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    await_change(fixture); /* long before the next poll is due */
}

static void overflows_are_held_for_minutes(void **state)
{
    struct fixture *fixture = *state;
    static const char lost[] =
        "BIRD: BIRD lost notifications of the kernel: until its next scan it "
        "may lack routes|";
    fixture->protocols = ONE_PEER;
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    assert_faults(fixture, "");
    ahead_ms += 1000;
    fake_bird_say(&fixture->bird, OVERFLOW);
    await_change(fixture);
    assert_faults(fixture, lost);
    assert_int_equal(fixture->status.bird.overflows, 1);
    pass_and_await(fixture, 9 * MINUTE_MS);
    assert_faults(fixture, lost);
    pass_and_await(fixture, MINUTE_MS);
    assert_faults(fixture, "");
}

static void a_reload_may_change_the_socket(void **state)
{
    struct fixture *fixture = *state;
    fixture->protocols = ONE_PEER;
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    unsigned connections = fixture->bird.connections;
    configure(fixture, fixture->bird.path);
    assert_int_equal(fixture->status.bird.peers.count, 1);

    configure(fixture, "/nowhere/bird.ctl");
    assert_int_equal(fixture->status.bird.peers.count, 0);
    await_change(fixture);
    assert_string_equal(fixture->status.bird.socket, "/nowhere/bird.ctl");
    assert_false(fixture->status.bird.reachable);
    configure(fixture, NULL);
    assert_null(fixture->status.bird.socket);
    assert_int_equal(fixture->bird.connections, connections);
}

static void passes_that_change_nothing_ask_nothing(void **state)
{
    struct fixture *fixture = *state;
    configure(fixture, fixture->bird.path);
    await_change(fixture);
    pass_and_await(fixture, 1000);
    ahead_ms += 5000;
    bgp_passed(fixture->bgp);
    assert_int_equal(sd_event_run(fixture->event, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_socket_nobody_is_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(sessions_become_peers_and_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(routes_that_lead_to_another_host, setup, teardown),
        cmocka_unit_test_setup_teardown(a_session_may_take_a_moment_to_come_up, setup, teardown),
        cmocka_unit_test_setup_teardown(bird_away_is_the_only_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(an_old_bird_is_told_once, setup, teardown),
        cmocka_unit_test_setup_teardown(filtered_routes_of_ours_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_routes_are_a_fault_once_nothing_moves, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(numbers_that_move_may_differ_for_some_seconds, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_family_that_bird_does_not_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_difference_is_looked_at_again_by_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(overflows_are_held_for_minutes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reload_may_change_the_socket, setup, teardown),
        cmocka_unit_test_setup_teardown(passes_that_change_nothing_ask_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
