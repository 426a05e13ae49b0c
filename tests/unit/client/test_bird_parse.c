// SPDX-License-Identifier: Apache-2.0
/* What is read from BIRD's replies: recorded ones, those of other releases, and broken ones. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "client/bird/bird_parse.h"
#include "cmocka_all.h"
#include "failing_malloc.h"
#include "recording.h"

#define AUTOREPLY CLEANUP(bird_reply_clear)

static int64_t ms(const char *time)
{
    int64_t result;
    assert_int_equal(clock_parse_rfc3339(time, &result), 0);
    return result;
}

static void say(struct bird_reply *reply, const char *bytes)
{
    size_t used;
    assert_int_equal(bird_reply_feed(reply, bytes, strlen(bytes), &used), 0);
    assert_true(reply->complete);
}

static bird_protocol_list protocols_of(const char *recording, int64_t now_ms)
{
    AUTOREPLY struct bird_reply reply = { 0 };
    bird_protocol_list list = { 0 };
    recording_feed(recording, &reply);
    assert_int_equal(bird_parse_protocols(&reply, now_ms, &list), 0);
    return list;
}

static const struct bird_protocol *named(const bird_protocol_list *list, const char *name)
{
    vec_each(const struct bird_protocol, protocol, list) {
        if (strcmp(protocol->name, name) == 0)
            return protocol;
    }
    fail_msg("no protocol %s", name);
    return NULL;
}

static void the_greeting_has_the_version(void **state)
{
    (void)state;
    AUTOREPLY struct bird_reply reply = { 0 };
    struct bird_server server;
    recording_feed("plain_greeting", &reply);
    assert_int_equal(bird_parse_greeting(&reply, &server), 0);
    assert_string_equal(server.version, "2.0.12");
    assert_int_equal(server.now_ms, -1);

    static const char *const others[] = { "0001 FRR ready.\n", "0000 BIRD 2.0.12 ready.\n",
                                          "8007 Access denied\n" };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        bird_reply_clear(&reply);
        say(&reply, others[i]);
        assert_int_equal(bird_parse_greeting(&reply, &server), -EPROTO);
    }
}

static void the_status_has_version_and_time(void **state)
{
    (void)state;
    AUTOREPLY struct bird_reply reply = { 0 };
    struct bird_server server = { .now_ms = -1 };
    recording_feed("status", &reply);
    bird_parse_status(&reply, &server);
    assert_string_equal(server.version, "2.0.12");
    assert_int_equal(server.now_ms, ms("2026-11-20T10:05:09Z"));
    bird_reply_clear(&reply);
    recording_feed("v3_status", &reply);
    bird_parse_status(&reply, &server);
    assert_string_equal(server.version, "3.1.2");

    struct bird_server kept = { .version = "x", .now_ms = 5 };
    bird_reply_clear(&reply);
    say(&reply, "0013 Daemon is up and running\n");
    bird_parse_status(&reply, &kept);
    assert_string_equal(kept.version, "x");
    assert_int_equal(kept.now_ms, 5);
}

static void an_established_session(void **state)
{
    (void)state;
    bird_protocol_list list = protocols_of("protocols", -1);
    assert_int_equal(list.count, 9); /* bfd1 is passed over */
    assert_string_equal(named(&list, "device1")->state, "up");

    const struct bird_protocol *tor = named(&list, "tor4");
    assert_string_equal(tor->kind, "BGP");
    assert_string_equal(tor->state, "up");
    assert_string_equal(tor->bgp_state, "Established");
    assert_string_equal(tor->neighbor, "10.99.1.1");
    assert_string_equal(tor->last_error, "");
    assert_int_equal(tor->asn, 64600);
    assert_int_equal(tor->since_ms, ms("2026-11-20T10:04:43Z"));
    assert_false(tor->listens);
    assert_false(tor->channels[BIRD_IPV6].present);
    const struct bird_channel *channel = &tor->channels[BIRD_IPV4];
    assert_true(channel->present && channel->exports);
    assert_string_equal(channel->table, "pods4");
    assert_int_equal(channel->imported, 0);
    assert_int_equal(channel->exported, 3);

    const struct bird_protocol *tor6 = named(&list, "tor6");
    assert_string_equal(tor6->neighbor, "fd99:1::1");
    assert_int_equal(tor6->channels[BIRD_IPV6].exported, 1);
    assert_false(tor6->channels[BIRD_IPV4].present);
    vec_done(&list);
}

static void sessions_that_are_down(void **state)
{
    (void)state;
    bird_protocol_list list = protocols_of("protocols", -1);
    const struct bird_protocol *gone = named(&list, "gone");
    assert_string_equal(gone->state, "start");
    assert_string_equal(gone->last_error, "Socket: No route to host");
    assert_int_equal(gone->asn, 64601);
    assert_true(gone->channels[BIRD_IPV4].present);
    assert_int_equal(gone->channels[BIRD_IPV4].imported, -1);
    assert_int_equal(gone->channels[BIRD_IPV4].exported, -1);

    const struct bird_protocol *resting = named(&list, "resting");
    assert_string_equal(resting->state, "down");
    assert_string_equal(resting->bgp_state, "Down");
    assert_string_equal(resting->last_error, "");

    const struct bird_protocol *listener = named(&list, "dyn");
    assert_true(listener->listens);
    assert_string_equal(listener->neighbor, "");
    vec_done(&list);
}

static void kernel_protocols(void **state)
{
    (void)state;
    bird_protocol_list list = protocols_of("protocols", -1);
    const struct bird_protocol *agent = named(&list, "agent4");
    assert_string_equal(agent->kind, "Kernel");
    assert_int_equal(agent->channels[BIRD_IPV4].imported, 6);
    assert_false(agent->channels[BIRD_IPV4].exports);
    assert_true(named(&list, "agent6")->channels[BIRD_IPV6].present);
    assert_true(named(&list, "main4")->channels[BIRD_IPV4].exports);
    vec_done(&list);
}

static void times_without_dates(void **state)
{
    (void)state;
    AUTOREPLY struct bird_reply reply = { 0 };
    struct bird_server server = { .now_ms = -1 };
    recording_feed("plain_status", &reply);
    bird_parse_status(&reply, &server);

    bird_protocol_list list = protocols_of("plain_protocols", server.now_ms);
    const struct bird_protocol *tor = named(&list, "tor4");
    assert_int_equal(tor->since_ms, ms("2026-11-20T10:05:14Z"));
    assert_string_equal(tor->bgp_state, "Idle");
    assert_string_equal(tor->last_error, "BGP Error: Bad peer AS");
    vec_done(&list);

    /* With no server time they are unknown, and the rest is there. */
    list = protocols_of("plain_protocols", -1);
    assert_int_equal(named(&list, "tor4")->since_ms, -1);
    assert_string_equal(named(&list, "tor4")->bgp_state, "Idle");
    vec_done(&list);
}

static void forms_of_time(void **state)
{
    (void)state;
    const int64_t now = ms("2026-11-20T10:00:00Z");
    static const struct {
        const char *text, *expected, *rest;
    } cases[] = {
        { " 2026-11-20 07:33:01  Established", "2026-11-20T07:33:01Z", "  Established" },
        { "2026-11-20 07:33:01.123 x", "2026-11-20T07:33:01Z", " x" },
        { "2026-11-18  Established", "2026-11-18T00:00:00Z", "  Established" },
        { "07:33:01.500  ", "2026-11-20T07:33:01Z", "  " },
        { "23:59:59.999  ", "2026-11-19T23:59:59Z", "  " },
        { "10:00:00.900", "2026-11-20T10:00:00Z", "" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t got;
        const char *rest;
        assert_int_equal(bird_parse_time(cases[i].text, now, &got, &rest), 0);
        assert_int_equal(got, ms(cases[i].expected));
        assert_string_equal(rest, cases[i].rest);
    }
    static const char *const bad[] = {
        "",         "Established", "1763632800",          "2026-13-01",
        "25:00:00", "-1:00:00",    "2026-00-00 00:00:00", "20 Nov 2026"
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        int64_t got = 7;
        const char *rest = NULL;
        assert_int_equal(bird_parse_time(bad[i], now, &got, &rest), -EINVAL);
        assert_int_equal(got, 7);
    }
}

static void another_major_version(void **state)
{
    (void)state;
    bird_protocol_list list = protocols_of("v3_protocols", -1);
    assert_int_equal(list.count, 2);
    const struct bird_protocol *tor = named(&list, "tor-a.1");
    assert_string_equal(tor->neighbor, "fe80::1%eth0");
    assert_int_equal(tor->asn, 4200000001);
    assert_string_equal(tor->last_error, "Received: Administrative shutdown");
    assert_false(tor->channels[BIRD_IPV4].present);
    assert_string_equal(tor->channels[BIRD_IPV6].table, "pods6");
    assert_int_equal(tor->channels[BIRD_IPV6].imported, 2);
    assert_int_equal(tor->channels[BIRD_IPV6].exported, 3);
    assert_int_equal(named(&list, "agent4")->channels[BIRD_IPV4].imported, 6);
    vec_done(&list);
}

static void limits_count_where_they_keep_routes_back(void **state)
{
    (void)state;
    AUTOREPLY struct bird_reply reply = { 0 };
    bird_protocol_list list = { 0 };
    say(&reply,
        "1002-a Kernel\n1006-  Channel ipv4\n1006-    Receive limit: 1 [HIT]\n"
        "1006-      Action: block\n1006-    Import limit: 1 [HIT]\n1006-      Action: warn\n"
        "1006-    Export limit: 9\n1006-      Action: block\n"
        "1002-b BGP\n1006-  Channel ipv4\n1006-    Export limit: 1 [HIT]\n"
        "1006-      Action: warn\n1006-    BGP Next hop: 10.0.1.77\n"
        "1006-  Channel ipv6\n1006-    Export limit: 1 [HIT]\n1006-      Action: restart\n"
        "1006-    BGP Next hop: fd00::1 fe80::1\n0000 \n");
    assert_int_equal(bird_parse_protocols(&reply, -1, &list), 0);
    const struct bird_channel *a = named(&list, "a")->channels, *b = named(&list, "b")->channels;
    assert_true(a[BIRD_IPV4].import_limited);
    assert_false(a[BIRD_IPV4].limited);
    assert_false(b[BIRD_IPV4].limited);
    assert_true(b[BIRD_IPV6].limited);
    assert_int_equal(a[BIRD_IPV4].next_hop.family, IP_NONE);
    assert_int_equal(b[BIRD_IPV4].next_hop.bytes[3], 77);
    assert_int_equal(b[BIRD_IPV6].next_hop.bytes[15], 1);
    vec_done(&list);
}

static void what_is_missing_is_unknown(void **state)
{
    (void)state;
    AUTOREPLY struct bird_reply reply = { 0 };
    bird_protocol_list list = { 0 };
    say(&reply, "1006-  BGP state: lost\n1002-\n1002-a BGP\n1006-  Neighbor AS: many\n"
                "1006-  Channel ipv4\n1006-    Routes: some\n"
                "1006-    Routes: 99999999999999999999 imported\n"
                "1002-b BGP --- up yesterday Established\n0000 \n");
    assert_int_equal(bird_parse_protocols(&reply, -1, &list), 0);
    assert_int_equal(list.count, 2);
    const struct bird_protocol *a = named(&list, "a"), *b = named(&list, "b");
    assert_string_equal(a->bgp_state, "");
    assert_int_equal(a->asn, 0);
    assert_int_equal(a->since_ms, -1);
    assert_int_equal(a->channels[BIRD_IPV4].imported, -1);
    assert_string_equal(b->state, "up");
    assert_string_equal(b->bgp_state, "");
    vec_done(&list);
}

static void long_words_are_cut(void **state)
{
    (void)state;
    AUTOREPLY struct bird_reply reply = { 0 };
    AUTOTEXT struct text said = { 0 };
    text_addf(&said, "1002-%0500d BGP %0500d %0500d 2026-11-20 %0500d\n", 0, 0, 0, 0);
    text_addf(&said, "1006-  Neighbor address: %0500d\n   Last error: %0500d\n0000 \n", 0, 0);
    say(&reply, text_str(&said));
    bird_protocol_list list = { 0 };
    assert_int_equal(bird_parse_protocols(&reply, -1, &list), 0);
    assert_int_equal(list.count, 1);
    assert_int_equal(strlen(list.items[0].name), BIRD_NAME_SIZE - 1);
    assert_false(bird_name_usable(list.items[0].name));
    assert_int_equal(strlen(list.items[0].last_error), sizeof(list.items[0].last_error) - 1);
    vec_done(&list);
}

static void bfd_sessions(void **state)
{
    (void)state;
    static const char *const names[] = { "bfd", "plain_bfd" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        AUTOREPLY struct bird_reply reply = { 0 };
        bird_bfd_list list = { 0 };
        recording_feed(names[i], &reply);
        assert_int_equal(bird_parse_bfd(&reply, &list), 0);
        assert_int_equal(list.count, 3);
        vec_each(const struct bird_bfd, session, &list) {
            char buffer[IP_STRLEN];
            bool gone = strcmp(ip_str(&session->address, buffer), "10.99.1.77") == 0;
            assert_string_equal(session->state, gone ? "Down" : "Up");
        }
        vec_done(&list);
    }
}

static void counts_of_routes(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        int64_t expected; /* -1: none */
    } cases[] = {
        { "1007-3 of 6 routes for 6 networks in table pods4\n0000 \n", 3 },
        { "1007-3 of 6 routes for 6 networks in table a\n 4 of 4 routes for 4 networks in table b\n"
          "0014 Total: 7 of 10 routes for 10 networks in 2 tables\n",
          7 },
        { "0000 \n", -1 },
        { "1007-10.0.0.1/32 blackhole [agent4] * (10)\n0000 \n", -1 },
        { "9001 No valid tables\n", -1 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOREPLY struct bird_reply reply = { 0 };
        int64_t count = -1;
        say(&reply, cases[i].reply);
        assert_int_equal(bird_parse_count(&reply, &count), cases[i].expected < 0 ? -ENOENT : 0);
        assert_int_equal(count, cases[i].expected);
    }
    AUTOREPLY struct bird_reply reply = { 0 };
    int64_t count;
    recording_feed("filtered_count", &reply);
    assert_int_equal(bird_parse_count(&reply, &count), 0);
    assert_int_equal(count, 3);
}

static void networks_of_routes(void **state)
{
    (void)state;
    AUTOREPLY struct bird_reply reply = { 0 };
    bird_prefix_list list = { 0 };
    recording_feed("filtered", &reply);
    assert_int_equal(bird_parse_networks(&reply, &list), 0);
    assert_int_equal(list.count, 3);
    static const char *const expected[] = { "10.9.9.9/32", "10.9.9.10/32", "10.9.9.11/32" };
    for (size_t i = 0; i < list.count; i++) {
        char buffer[PREFIX_STRLEN];
        assert_string_equal(prefix_str(&list.items[i], buffer), expected[i]);
    }
    vec_clear(&list);
    bird_reply_clear(&reply);
    say(&reply,
        "1007-Table pods6:\n fd00::2/128  blackhole [agent6] * (10)\n"
        "              unreachable [other] (10)\n \tvia 10.0.0.1 on eth0\n"
        " fd00::1/128  blackhole [agent6] * (10)\n fd00::2/128 blackhole [x] (10)\n0000 \n");
    assert_int_equal(bird_parse_networks(&reply, &list), 0);
    assert_int_equal(list.count, 2);
    vec_done(&list);
}

static void names_for_commands(void **state)
{
    (void)state;
    assert_true(bird_name_usable("tor4"));
    assert_true(bird_name_usable("tor-a.1:x_Y"));
    assert_false(bird_name_usable(""));
    assert_false(bird_name_usable("a'b"));
    assert_false(bird_name_usable("a b"));
    assert_false(bird_name_usable("a\nshutdown"));
    assert_false(bird_name_usable("caf\xc3\xa9"));
}

static void parse_all(const struct bird_reply *reply)
{
    bird_protocol_list protocols = { 0 };
    bird_bfd_list bfd = { 0 };
    bird_prefix_list networks = { 0 };
    struct bird_server server = { .now_ms = -1 };
    int64_t count;
    (void)bird_parse_greeting(reply, &server);
    bird_parse_status(reply, &server);
    (void)bird_parse_protocols(reply, server.now_ms, &protocols);
    (void)bird_parse_bfd(reply, &bfd);
    (void)bird_parse_count(reply, &count);
    (void)bird_parse_networks(reply, &networks);
    vec_done(&protocols);
    vec_done(&bfd);
    vec_done(&networks);
}

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Bytes changed at random: each reply is refused or read, and the sanitizers are content. */
static void garbage_is_survived(void **state)
{
    (void)state;
    uint32_t seed = 12345;
    size_t completed = 0, refused = 0;
    for (size_t i = 0; i < recording_count; i++) {
        size_t size, used;
        AUTOFREE char *bytes = recording_read(recording_names[i], &size);
        for (int round = 0; round < 300; round++) {
            AUTOFREE char *broken = malloc(size);
            memcpy(broken, bytes, size);
            for (uint32_t n = draw(&seed) % 8; n > 0; n--)
                broken[draw(&seed) % size] =
                    (char)(draw(&seed) % 4 ? "0123 -:.+\n"[draw(&seed) % 10] : (int)draw(&seed));
            AUTOREPLY struct bird_reply reply = { 0 };
            if (bird_reply_feed(&reply, broken, size, &used) < 0) {
                refused++;
                continue;
            }
            completed += reply.complete;
            if (reply.complete)
                parse_all(&reply);
        }
    }
    assert_true(completed > 100 && refused > 100);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    AUTOREPLY struct bird_reply protocols = { 0 }, bfd = { 0 }, filtered = { 0 };
    recording_feed("protocols", &protocols);
    recording_feed("bfd", &bfd);
    recording_feed("filtered", &filtered);
    bird_protocol_list list = { 0 };
    bird_bfd_list sessions = { 0 };
    bird_prefix_list networks = { 0 };
    allocations_left = 0;
    assert_int_equal(bird_parse_protocols(&protocols, -1, &list), -ENOMEM);
    assert_int_equal(bird_parse_bfd(&bfd, &sessions), -ENOMEM);
    assert_int_equal(bird_parse_networks(&filtered, &networks), -ENOMEM);
    allocations_left = -1;
    vec_done(&list);
    vec_done(&sessions);
    vec_done(&networks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_greeting_has_the_version),
        cmocka_unit_test(the_status_has_version_and_time),
        cmocka_unit_test(an_established_session),
        cmocka_unit_test(sessions_that_are_down),
        cmocka_unit_test(kernel_protocols),
        cmocka_unit_test(times_without_dates),
        cmocka_unit_test(forms_of_time),
        cmocka_unit_test(another_major_version),
        cmocka_unit_test(limits_count_where_they_keep_routes_back),
        cmocka_unit_test(what_is_missing_is_unknown),
        cmocka_unit_test(long_words_are_cut),
        cmocka_unit_test(bfd_sessions),
        cmocka_unit_test(counts_of_routes),
        cmocka_unit_test(networks_of_routes),
        cmocka_unit_test(names_for_commands),
        cmocka_unit_test(garbage_is_survived),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
