// SPDX-License-Identifier: Apache-2.0
/* Services whose addresses another program writes over: how often, how soon, and when it is over.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/pools/address_inside.h"
#include "format/reader.h"

#include "cmocka_all.h"

enum { UPTIME_MS = 66761000 }; /* of a machine that has run for most of a day */

struct fixture {
    struct address_job job;
    struct board board;
    struct object *web;
    ip_list ips; /* that it is given */
};

static struct object *service(const char *uid)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    AUTOFREE char *yaml = text_format(
        "{apiVersion: v1, kind: Service, metadata: {name: web, uid: %s}, spec: {type: LoadBalancer, "
        "clusterIP: 10.96.0.1, ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: "
        "198.51.100.9}]}}}",
        uid);
    assert_int_equal(document_parse(yaml, strlen(yaml), "", READER_YAML, &document, &faults), 1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &faults), 1);
    return object;
}

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    struct ip ip;
    assert_non_null(fx);
    contests_init(&fx->job.contests);
    fx->board.faults = fault_book_new();
    fx->job.job.board = &fx->board;
    fx->web = service("u-1");
    assert_int_equal(ip_parse("203.0.113.0", &ip), 0);
    assert_int_equal(vec_push(&fx->ips, ip), 0);
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    service_notes_done(&fx->job.contests);
    fault_book_free(fx->board.faults);
    object_free(fx->web);
    vec_done(&fx->ips);
    free(fx);
    return 0;
}

/* The status has another address at `now_ms`; it is written anew, and a round runs before the
 * answer is here and behind it. */
static void put_back(struct fixture *fx, int64_t now_ms)
{
    contests_see(&fx->job.contests, to_service(fx->web), &fx->ips, now_ms);
    address_contests_tell(&fx->job, now_ms + 1);
    contests_note(&fx->job.contests, to_service(fx->web), &fx->ips, now_ms + 6);
    address_contests_tell(&fx->job, now_ms + 6);
}

static size_t told(const struct fixture *fx)
{
    return fault_book_count(fx->board.faults);
}

static void rounds_while_a_write_is_under_way_forget_nothing(void **state)
{
    struct fixture *fx = *state;
    for (int i = 0; i < 3; i++)
        put_back(fx, UPTIME_MS + i * 150L);
    assert_int_equal(told(fx), 0);
    put_back(fx, UPTIME_MS + 450);
    assert_int_equal(told(fx), 1);
}

static void it_is_told_in_the_same_words_while_it_lasts(void **state)
{
    struct fixture *fx = *state;
    for (int i = 0; i < 4; i++)
        put_back(fx, UPTIME_MS + i * 2L * SECOND_MS);
    assert_string_equal(known_fault_code(fault_book_at(fx->board.faults, 0)),
                        "service-status-contested");
    AUTOFREE char *first = strdup(fault_book_at(fx->board.faults, 0)->message);
    assert_non_null(strstr(first, "were put back 3 times in 6s"));
    for (int i = 4; i < 9; i++)
        put_back(fx, UPTIME_MS + i * 2L * SECOND_MS);
    assert_int_equal(told(fx), 1);
    assert_string_equal(fault_book_at(fx->board.faults, 0)->message, first);
}

static void it_is_over_after_twice_its_pause(void **state)
{
    struct fixture *fx = *state;
    for (int i = 0; i < 4; i++)
        put_back(fx, UPTIME_MS + i * 4L * SECOND_MS);
    int64_t last_ms = UPTIME_MS + 12 * SECOND_MS + 6;
    assert_int_equal(contests_next_ms(&fx->job.contests), last_ms + 8 * SECOND_MS);
    address_contests_tell(&fx->job, last_ms + 8 * SECOND_MS - 1);
    assert_int_equal(told(fx), 1);
    address_contests_tell(&fx->job, last_ms + 8 * SECOND_MS);
    assert_int_equal(told(fx), 0);
    assert_int_equal(service_notes_count(&fx->job.contests), 0);
}

static void a_write_that_is_never_answered_is_forgotten_after_a_minute(void **state)
{
    struct fixture *fx = *state;
    contests_see(&fx->job.contests, to_service(fx->web), &fx->ips, UPTIME_MS);
    address_contests_tell(&fx->job, UPTIME_MS + MINUTE_MS - 1);
    assert_int_equal(service_notes_count(&fx->job.contests), 1);
    address_contests_tell(&fx->job, UPTIME_MS + MINUTE_MS);
    assert_int_equal(service_notes_count(&fx->job.contests), 0);
}

static void one_that_is_made_anew_is_another(void **state)
{
    struct fixture *fx = *state;
    for (int i = 0; i < 6; i++) {
        AUTOFREE char *uid = text_format("u-%d", i);
        object_free(fx->web);
        fx->web = service(uid);
        put_back(fx, UPTIME_MS + i * SECOND_MS);
    }
    assert_int_equal(told(fx), 0);
}

/* Written again, since it was not stored: nobody has written over it. */
static void while_its_version_stays_nobody_has_written(void **state)
{
    struct fixture *fx = *state;
    fx->web->version = "7";
    for (int i = 0; i < 6; i++)
        put_back(fx, UPTIME_MS + i * SECOND_MS);
    assert_int_equal(told(fx), 0);
}

/* A Service that has no address any more, or others, by its own type and families, and then as
 * before. */
static void what_the_controller_took_off_itself_is_no_contest(void **state)
{
    struct fixture *fx = *state;
    const ip_list none = { 0 };
    AUTOVEC ip_list more = { 0 };
    struct ip ip;
    assert_int_equal(ip_parse("fd00:203::", &ip), 0);
    assert_int_equal(vec_append(&more, &fx->ips), 0);
    assert_int_equal(vec_push(&more, ip), 0);
    for (int i = 0; i < 12; i++) {
        put_back(fx, UPTIME_MS + i * 100L);
        contests_see(&fx->job.contests, to_service(fx->web), i < 6 ? &none : &more,
                     UPTIME_MS + i * 100L + 50);
    }
    assert_int_equal(told(fx), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(rounds_while_a_write_is_under_way_forget_nothing),
        CASE(it_is_told_in_the_same_words_while_it_lasts),
        CASE(it_is_over_after_twice_its_pause),
        CASE(a_write_that_is_never_answered_is_forgotten_after_a_minute),
        CASE(one_that_is_made_anew_is_another),
        CASE(while_its_version_stays_nobody_has_written),
        CASE(what_the_controller_took_off_itself_is_no_contest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
