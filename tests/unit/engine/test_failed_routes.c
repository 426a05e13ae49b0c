// SPDX-License-Identifier: Apache-2.0
/*
 * Routes that do not stand, and rivals: one fault for each slot while it holds, and a name for whom
 * repairs are made against.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "engine/rival.h"
#include "engine/routes/failed_routes.h"
#include "raised.h"

static int64_t clock_ms = 1000;

int64_t __wrap_clock_mono_ms(void);
int64_t __wrap_clock_mono_ms(void)
{
    return clock_ms;
}

static struct route route_to(const char *prefix, uint8_t protocol)
{
    struct route route = { .table = 119, .protocol = protocol, .type = RTN_BLACKHOLE };
    assert_int_equal(prefix_parse(prefix, &route.prefix), 0);
    return route;
}

static int setup(void **state)
{
    static struct failed_routes failed_routes;
    failed_routes_init(&failed_routes, fault_book_new());
    assert_non_null(failed_routes.faults);
    *state = &failed_routes;
    return 0;
}

static int teardown(void **state)
{
    struct failed_routes *failed_routes = *state;
    fault_book_free(failed_routes->faults);
    failed_routes_done(failed_routes);
    return 0;
}

static void refuse(struct failed_routes *failed_routes, const char *prefix, int error,
                   const char *text)
{
    struct route_op op = { OP_ADD, route_to(prefix, 31) };
    failed_routes_refused(failed_routes, &op, error, text);
}

static void a_refusal_is_told_in_the_kernels_words(void **state)
{
    struct failed_routes *failed_routes = *state;
    refuse(failed_routes, "10.0.0.1/32", -EPERM, "");
    refuse(failed_routes, "10.0.0.2/32", -EINVAL, "Invalid table");
    struct route_op remove = { OP_DELETE, route_to("10.0.0.3/32", 31) };
    failed_routes_refused(failed_routes, &remove, -EBUSY, "");

    assert_int_equal(fault_book_count(failed_routes->faults), 3);
    const struct known_fault *first = fault_book_at(failed_routes->faults, 0);
    assert_string_equal(first->subsystem, "routes");
    assert_string_equal(first->place, "10.0.0.1/32 table 119");
    assert_string_equal(first->message, "the kernel refuses to add blackhole 10.0.0.1/32 proto 31: "
                                        "Operation not permitted");
    assert_non_null(strstr(first->remedy, "CAP_NET_ADMIN"));
    const struct known_fault *second = fault_book_at(failed_routes->faults, 1);
    assert_non_null(strstr(second->message, "Invalid argument (Invalid table)"));
    assert_string_equal(known_fault_code(second), "route-refused");
    assert_non_null(second->remedy);
    assert_non_null(strstr(fault_book_at(failed_routes->faults, 2)->message, "refuses to delete"));
}

/* While the kernel probes for a duplicate of the source. */
static void a_source_that_is_probed_is_no_fault_for_a_while(void **state)
{
    struct failed_routes *failed_routes = *state;
    refuse(failed_routes, "fd00::1/128", -EINVAL, "Invalid source address");
    refuse(failed_routes, "10.0.0.1/32", -EINVAL, "Invalid source address");
    assert_int_equal(failed_routes_count(failed_routes, true), 2);
    assert_int_equal(fault_book_count(failed_routes->faults), 1);
    clock_ms += 3900;
    refuse(failed_routes, "fd00::1/128", -EINVAL, "Invalid source address");
    assert_int_equal(fault_book_count(failed_routes->faults), 1);
    clock_ms += 200;
    refuse(failed_routes, "fd00::1/128", -EINVAL, "Invalid source address");
    assert_int_equal(fault_book_count(failed_routes->faults), 2);
    assert_non_null(strstr(fault_book_at(failed_routes->faults, 1)->remedy, "ip -6 address"));
    assert_string_equal(known_fault_code(fault_book_at(failed_routes->faults, 1)),
                        "route-refused-source");
}

static void a_refusal_with_a_cause_has_its_remedy(void **state)
{
    struct failed_routes *failed_routes = *state;
    refuse(failed_routes, "10.0.0.1/32", -EEXIST, "");
    refuse(failed_routes, "fd00::1/128", -EACCES,
           "Nexthop device: IPv6 is disabled on this device.");
    const struct known_fault *taken = fault_book_at(failed_routes->faults, 0);
    assert_string_equal(known_fault_code(taken), "route-slot-taken");
    assert_non_null(strstr(taken->remedy, "ip route show table 119 10.0.0.1/32"));
    const struct known_fault *off = fault_book_at(failed_routes->faults, 1);
    assert_string_equal(known_fault_code(off), "route-refused-ipv6-off");
    assert_non_null(strstr(off->remedy, "disable_ipv6=0"));
}

static void a_foreign_route_is_named(void **state)
{
    struct failed_routes *failed_routes = *state;
    struct route wanted = route_to("10.0.0.1/32", 31), foreign = route_to("10.0.0.1/32", 4);
    failed_routes_blocked(failed_routes, &wanted, &foreign, NULL);
    assert_int_equal(fault_book_count(failed_routes->faults), 1);
    assert_string_equal(known_fault_code(fault_book_at(failed_routes->faults, 0)),
                        "route-kept-out");
    assert_string_equal(fault_book_at(failed_routes->faults, 0)->message,
                        "blackhole 10.0.0.1/32 proto 31 is kept out by a foreign route: "
                        "blackhole 10.0.0.1/32 proto static");
    assert_int_equal(failed_routes_count(failed_routes, false), 1);
    assert_int_equal(failed_routes_count(failed_routes, true), 0);

    /* It went, and now the kernel refuses: still one fault for the slot. */
    refuse(failed_routes, "10.0.0.1/32", -ENOBUFS, "");
    assert_int_equal(fault_book_count(failed_routes->faults), 1);
    assert_int_equal(failed_routes_count(failed_routes, false), 0);
    assert_int_equal(failed_routes_count(failed_routes, true), 1);
}

static void a_pass_settles_what_it_looked_at(void **state)
{
    struct failed_routes *failed_routes = *state;
    refuse(failed_routes, "10.0.0.1/32", -EPERM, "");
    refuse(failed_routes, "10.0.0.2/32", -EPERM, "");
    refuse(failed_routes, "10.0.0.3/32", -EPERM, "");
    failed_routes_settle(failed_routes); /* a pass that looked at none */
    assert_int_equal(fault_book_count(failed_routes->faults), 3);

    struct route slots[] = { route_to("10.0.0.1/32", 0), route_to("10.0.0.2/32", 0),
                             route_to("10.0.0.9/32", 0) };
    failed_routes_examine(failed_routes, slots, ARRAY_SIZE(slots));
    refuse(failed_routes, "10.0.0.2/32", -EPERM, "");
    failed_routes_settle(failed_routes);
    assert_int_equal(fault_book_count(failed_routes->faults), 2);
    assert_string_equal(fault_book_at(failed_routes->faults, 0)->place, "10.0.0.2/32 table 119");

    failed_routes_examine_all(failed_routes);
    failed_routes_settle(failed_routes);
    assert_int_equal(fault_book_count(failed_routes->faults), 0);
    assert_int_equal(failed_routes_count(failed_routes, true), 0);
    failed_routes_examine(failed_routes, slots, ARRAY_SIZE(slots));
    failed_routes_settle(failed_routes);
}

/* The same slot in another table, or with another metric, is another one. */
static void slots_are_apart(void **state)
{
    struct failed_routes *failed_routes = *state;
    struct route_op ops[] = { { OP_ADD, route_to("10.0.0.1/32", 31) },
                              { OP_ADD, route_to("10.0.0.1/32", 33) } };
    ops[1].route.table = 120;
    failed_routes_refused(failed_routes, &ops[0], -EPERM, "");
    failed_routes_refused(failed_routes, &ops[1], -EPERM, "");
    assert_int_equal(fault_book_count(failed_routes->faults), 2);
    failed_routes_examine(failed_routes, &ops[1].route, 1);
    failed_routes_settle(failed_routes);
    assert_int_equal(fault_book_count(failed_routes->faults), 1);
    assert_string_equal(fault_book_at(failed_routes->faults, 0)->place, "10.0.0.1/32 table 119");
}

static void the_refused_are_walked(void **state)
{
    struct failed_routes *failed_routes = *state;
    struct route wanted = route_to("10.0.0.2/32", 31), foreign = route_to("10.0.0.2/32", 4);
    refuse(failed_routes, "10.0.0.3/32", -EPERM, "");
    failed_routes_blocked(failed_routes, &wanted, &foreign, NULL);
    refuse(failed_routes, "10.0.0.1/32", -EPERM, "");
    AUTOTEXT struct text seen = { 0 };
    char buffer[PREFIX_STRLEN];
    size_t index = 0;
    for (struct route slot; failed_routes_next_refused(failed_routes, &index, &slot);)
        text_addf(&seen, "%s ", prefix_str(&slot.prefix, buffer));
    assert_string_equal(text_str(&seen), "10.0.0.1/32 10.0.0.3/32 ");
}

enum { OFTEN = 20 }; /* repairs a minute that are no fight yet */

static void note_often(struct rival *rival, int count, int64_t now_ms)
{
    for (int i = 0; i < count; i++)
        rival_note(rival, 4711, now_ms);
}

static void a_hand_is_no_rival(void **state)
{
    (void)state;
    struct rival rival = { 0 };
    int64_t now_ms = 10 * MINUTE_MS;
    assert_false(rival_present(&rival, now_ms));
    note_often(&rival, OFTEN, now_ms);
    assert_false(rival_present(&rival, now_ms));
    /* As many again, but in another minute. */
    note_often(&rival, OFTEN, now_ms + MINUTE_MS + 1);
    assert_false(rival_present(&rival, now_ms + MINUTE_MS + 1));
}

static void a_fight_is_seen_and_forgotten(void **state)
{
    (void)state;
    struct rival rival = { 0 };
    int64_t now_ms = 10 * MINUTE_MS;
    note_often(&rival, OFTEN + 1, now_ms);
    assert_true(rival_present(&rival, now_ms + RIVAL_CALM_MS - 1));
    assert_false(rival_present(&rival, now_ms + RIVAL_CALM_MS));
    rival_note(&rival, 0, now_ms); /* the kernel did not say who */
    assert_int_equal(rival.writer, 4711);
    rival_note(&rival, 4712, now_ms + RIVAL_CALM_MS); /* a hand, some seconds later */
    assert_int_equal(rival.repairs, 1);
    assert_int_equal(rival.writer, 4712);
    assert_false(rival_present(&rival, now_ms + RIVAL_CALM_MS));
}

/* Repairs are made once a second by then: too few in a minute to begin one. */
static void a_fight_goes_on_over_minutes(void **state)
{
    (void)state;
    struct rival rival = { 0 };
    int64_t now_ms = 10 * MINUTE_MS;
    note_often(&rival, OFTEN + 1, now_ms);
    for (int i = 1; i <= 180; i++) {
        rival_note(&rival, 4711, now_ms + i * SECOND_MS);
        assert_true(rival_present(&rival, now_ms + i * SECOND_MS));
    }
}

/* A loop that starts a process each time: the fault of one fight keeps its words. */
static void a_fight_keeps_the_name_it_began_with(void **state)
{
    (void)state;
    struct rival rival = { 0 };
    int64_t now_ms = 10 * MINUTE_MS;
    for (uint32_t port = 1; port <= OFTEN + 1; port++)
        rival_note(&rival, port, now_ms);
    assert_int_equal(rival.writer, OFTEN + 1);
    for (uint32_t port = 100; port < 110; port++) {
        now_ms += SECOND_MS;
        rival_note(&rival, port, now_ms);
        assert_true(rival_present(&rival, now_ms));
        assert_int_equal(rival.writer, OFTEN + 1);
    }
    rival_note(&rival, 4711, now_ms); /* a program that stays */
    rival_note(&rival, 4711, now_ms + SECOND_MS);
    assert_int_equal(rival.writer, 4711);
}

static void a_rival_has_a_name(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    const uint32_t writers[] = { (uint32_t)getpid(), UINT32_MAX, 0 };
    for (size_t i = 0; i < sizeof(writers) / sizeof(*writers); i++) {
        struct rival rival = { 0 };
        for (int repair = 0; repair <= OFTEN; repair++)
            rival_note(&rival, writers[i], 10 * MINUTE_MS);
        rival_fault(&rival, &faults);
    }
    AUTOFREE char *name = text_format("netlink port %d (test_engine_fai)", (int)getpid());
    assert_int_equal(faults.list.count, 3);
    assert_string_equal(code_of(&faults.list.items[0]), "foreign-writer");
    assert_non_null(strstr(faults.list.items[0].message, name));
    assert_non_null(strstr(faults.list.items[1].message, "(gone)"));
    assert_non_null(strstr(faults.list.items[2].message, "netlink port 0 (gone)"));
    assert_non_null(faults.list.items[0].remedy);
}

#define WITH_FAILED_ROUTES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FAILED_ROUTES(a_refusal_is_told_in_the_kernels_words),
        WITH_FAILED_ROUTES(a_refusal_with_a_cause_has_its_remedy),
        WITH_FAILED_ROUTES(a_source_that_is_probed_is_no_fault_for_a_while),
        WITH_FAILED_ROUTES(a_foreign_route_is_named),
        WITH_FAILED_ROUTES(a_pass_settles_what_it_looked_at),
        WITH_FAILED_ROUTES(slots_are_apart),
        WITH_FAILED_ROUTES(the_refused_are_walked),
        cmocka_unit_test(a_hand_is_no_rival),
        cmocka_unit_test(a_fight_is_seen_and_forgotten),
        cmocka_unit_test(a_fight_goes_on_over_minutes),
        cmocka_unit_test(a_fight_keeps_the_name_it_began_with),
        cmocka_unit_test(a_rival_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
