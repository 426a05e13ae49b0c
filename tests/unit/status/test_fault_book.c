// SPDX-License-Identifier: Apache-2.0
/* The book of faults: order, times, twins, the watcher, and every allocation failing once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "cmocka_all.h"
#include "failing_malloc.h"
#include "faults/bgp.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "status/fault_book.h"

/* One letter per fault: its place; the message is the same for all. */
static int replace(struct fault_book *book, const char *subsystem, const char *group,
                   const char *places, int64_t wall_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    for (const char *place = places; *place; place++)
        faults_add(&faults, (char[]){ *place, '\0' }, NULL, "broken");
    return fault_book_replace(book, subsystem, group, &faults, wall_ms);
}

/* "subsystem/group/place@since " of every fault. */
static void assert_book(const struct fault_book *book, const char *expected)
{
    AUTOTEXT struct text text = { 0 };
    for (size_t i = 0; i < fault_book_count(book); i++) {
        const struct known_fault *fault = fault_book_at(book, i);
        text_addf(&text, "%s/%s/%s@%d ", fault->subsystem, fault->group, fault->place,
                  (int)fault->since_wall_ms);
    }
    assert_string_equal(text_str(&text), expected);
}

static void note(enum fault_change change, const struct known_fault *fault, void *context)
{
    static const char signs[] = {
        [FAULT_RAISED] = '+', [FAULT_CLEARED] = '-', [FAULT_CHANGED] = '~'
    };
    text_addf(context, "%c%s/%s/%s@%d ", signs[change], fault->subsystem, fault->group,
              fault->place, (int)fault->since_wall_ms);
}

static void assert_noted(struct text *text, const char *expected)
{
    assert_string_equal(text_str(text), expected);
    text_truncate(text, 0);
}

static void faults_come_in_order(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    assert_int_equal(replace(book, "routes", "119", "cab", 1), 3);
    assert_int_equal(replace(book, "config", "", "x", 2), 1);
    assert_int_equal(replace(book, "routes", "118", "z", 3), 1);
    assert_int_equal(replace(book, "routes", "", "y", 4), 1);
    assert_int_equal(replace(book, "manifests", "web.yaml", "m", 5), 1);
    assert_book(book, "config//x@2 manifests/web.yaml/m@5 routes//y@4 routes/118/z@3 "
                      "routes/119/a@1 routes/119/b@1 routes/119/c@1 ");
}

/* A separator that both names could contain must not make two groups one. */
static void groups_are_pairs(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    replace(book, "a", "b/c", "1", 1);
    replace(book, "a/b", "c", "2", 1);
    assert_int_equal(replace(book, "a", "b", "", 2), 0);
    assert_int_equal(replace(book, "a/b", "c", "", 2), 0);
    assert_book(book, "a/b/c/1@1 ");
}

static void what_stays_keeps_its_time(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    replace(book, "routes", "119", "bd", 10);
    assert_int_equal(replace(book, "routes", "119", "abcde", 20), 3);
    assert_book(book, "routes/119/a@20 routes/119/b@10 routes/119/c@20 routes/119/d@10 "
                      "routes/119/e@20 ");
    assert_int_equal(replace(book, "routes", "119", "ce", 30), 0);
    assert_book(book, "routes/119/c@20 routes/119/e@20 ");
    /* Gone and back is new. */
    assert_int_equal(replace(book, "routes", "119", "bce", 40), 1);
    assert_book(book, "routes/119/b@40 routes/119/c@20 routes/119/e@20 ");
}

static void another_message_is_another_fault(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    for (int round = 0; round < 2; round++) {
        AUTOFAULTS struct faults faults = { 0 };
        faults_add(&faults, "web.yaml:1", NULL, "port %d", 70000 + round);
        assert_int_equal(fault_book_replace(book, "manifests", "web.yaml", &faults, round), 1);
    }
    assert_int_equal(fault_book_count(book), 1);
    assert_string_equal(fault_book_at(book, 0)->message, "port 70001");
    assert_int_equal(fault_book_at(book, 0)->since_wall_ms, 1);
}

static int replace_message(struct fault_book *book, const char *message, int64_t wall_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    faults_add(&faults, "tor 10.0.0.1", NULL, "%s", message);
    return fault_book_replace(book, "bgp", "sessions", &faults, wall_ms);
}

/* A reason stands behind the first colon. */
static void another_reason_is_as_old_as_the_first(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    static const char *const reasons[] = { "down: closed", "down: reset", "down: closed: again",
                                           "down: Hold timer expired" };
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
        assert_int_equal(replace_message(book, reasons[i], 5 + (int64_t)i), 1);
        assert_book(book, "bgp/sessions/tor 10.0.0.1@5 ");
    }
    replace_message(book, "disabled", 20);
    assert_book(book, "bgp/sessions/tor 10.0.0.1@20 ");
    replace_message(book, "down", 30);
    replace_message(book, "down: closed", 31);
    assert_book(book, "bgp/sessions/tor 10.0.0.1@31 ");
    replace_message(book, "up: closed", 32);
    assert_book(book, "bgp/sessions/tor 10.0.0.1@32 ");
}

static void another_remedy_is_the_same_fault(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    AUTOFAULTS struct faults before = { 0 }, after = { 0 };
    faults_add(&before, "p", NULL, "m");
    faults_add(&after, "p", "mend it", "m");
    fault_book_replace(book, "s", "g", &before, 1);
    assert_null(fault_book_at(book, 0)->remedy);
    assert_int_equal(fault_book_replace(book, "s", "g", &after, 2), 0);
    assert_string_equal(fault_book_at(book, 0)->remedy, "mend it");
    assert_int_equal(fault_book_at(book, 0)->since_wall_ms, 1);
}

static void twins_are_one(void **state)
{
    (void)state;
    static const char *const remedies[][3] = { { NULL, "b", "a" }, { "a", NULL, "b" } };
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    for (size_t order = 0; order < ARRAY_SIZE(remedies); order++) {
        AUTOFAULTS struct faults faults = { 0 };
        for (size_t i = 0; i < 3; i++)
            faults_add(&faults, "p", remedies[order][i], "m");
        assert_int_equal(fault_book_replace(book, "s", "g", &faults, 1), order == 0);
        assert_int_equal(fault_book_count(book), 1);
        assert_string_equal(fault_book_at(book, 0)->remedy, "a");
    }
}

static void everything_is_copied(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    char subsystem[] = "manifests", group[] = "web.yaml";
    struct faults faults = { 0 };
    faults_add(&faults, "place", "remedy", "message");
    fault_book_replace(book, subsystem, group, &faults, 1);
    faults_done(&faults);
    memset(subsystem, 'x', sizeof(subsystem) - 1);
    memset(group, 'x', sizeof(group) - 1);

    const struct known_fault *fault = fault_book_at(book, 0);
    assert_string_equal(fault->subsystem, "manifests");
    assert_string_equal(fault->group, "web.yaml");
    assert_string_equal(fault->place, "place");
    assert_string_equal(fault->message, "message");
    assert_string_equal(fault->remedy, "remedy");
}

static void nothing_clears(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    assert_int_equal(fault_book_replace(book, "s", "g", NULL, 1), 0);
    assert_int_equal(fault_book_count(book), 0);
    replace(book, "s", "f", "1", 1);
    replace(book, "s", "g", "2", 1);
    replace(book, "s", "h", "3", 1);
    assert_int_equal(fault_book_replace(book, "s", "g", NULL, 2), 0);
    assert_book(book, "s/f/1@1 s/h/3@1 ");
    assert_int_equal(replace(book, "s", "h", "", 2), 0);
    assert_int_equal(replace(book, "s", "f", "", 2), 0);
    assert_int_equal(fault_book_count(book), 0);
}

static void an_incomplete_list_says_so(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    AUTOFAULTS struct faults faults = { 0 };
    faults_add(&faults, "web.yaml:3", NULL, "broken");
    allocations_left = 0;
    faults_add(&faults, "web.yaml:4", NULL, "broken as well");
    allocations_left = -1;
    assert_true(faults.incomplete);

    assert_int_equal(fault_book_replace(book, "manifests", "web.yaml", &faults, 1), 2);
    assert_int_equal(fault_book_count(book), 2);
    assert_string_equal(fault_book_at(book, 0)->place, "web.yaml");
    assert_non_null(strstr(fault_book_at(book, 0)->message, "memory ran out"));
    assert_string_equal(fault_book_at(book, 1)->place, "web.yaml:3");
    /* It holds until the group is replaced by a complete list. */
    assert_int_equal(fault_book_replace(book, "manifests", "web.yaml", &faults, 2), 0);
    faults.incomplete = false;
    assert_int_equal(fault_book_replace(book, "manifests", "web.yaml", &faults, 3), 0);
    assert_book(book, "manifests/web.yaml/web.yaml:3@1 ");

    struct faults lost = { .incomplete = true };
    assert_int_equal(fault_book_replace(book, "routes", "", &lost, 4), 1);
    assert_string_equal(fault_book_at(book, 1)->place, "routes");
}

static void the_watcher_hears_each_change_once(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    AUTOTEXT struct text text = { 0 };
    replace(book, "s", "g", "a", 1);
    fault_book_watch(book, note, &text);
    replace(book, "s", "g", "ba", 2);
    assert_noted(&text, "+s/g/b@2 ");
    replace(book, "s", "g", "ab", 3);
    assert_noted(&text, "");
    replace(book, "s", "g", "xby", 4);
    assert_noted(&text, "-s/g/a@1 +s/g/x@4 +s/g/y@4 ");
    fault_book_replace(book, "s", "g", NULL, 5);
    assert_noted(&text, "-s/g/b@2 -s/g/x@4 -s/g/y@4 ");
    fault_book_replace(book, "s", "g", NULL, 6);
    assert_noted(&text, "");
    fault_book_watch(book, NULL, NULL);
    replace(book, "s", "g", "a", 7);
    assert_noted(&text, "");
}

/* A fault of the catalogue goes on whatever its message says, and the watcher hears what it says.
 */
static void another_count_is_the_same_fault(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    AUTOTEXT struct text text = { 0 };
    static const struct {
        int64_t count, wall_ms;
        const char *noted;
    } steps[] = {
        { 2, 10, "+bgp/filters/tor1@10 " }, { 3, 20, "~bgp/filters/tor1@10 " }, { 3, 30, "" },
        { 0, 40, "-bgp/filters/tor1@10 " }, { 3, 50, "+bgp/filters/tor1@50 " },
    };
    fault_book_watch(book, note, &text);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        AUTOFAULTS struct faults faults = { 0 };
        if (steps[i].count > 0)
            fault_raise(&faults, "tor1", bgp_routes_filtered, .count = steps[i].count);
        fault_book_replace(book, "bgp", "filters", &faults, steps[i].wall_ms);
        assert_noted(&text, steps[i].noted);
    }
}

struct counting {
    const struct fault_book *book;
    size_t expected;
    int calls;
};

static void count_what_holds(enum fault_change change, const struct known_fault *fault,
                             void *context)
{
    struct counting *counting = context;
    (void)change;
    (void)fault;
    assert_int_equal(fault_book_count(counting->book), counting->expected);
    counting->calls++;
}

static void the_watcher_sees_the_new_book(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    replace(book, "s", "g", "abc", 1);
    struct counting counting = { .book = book, .expected = 2 };
    fault_book_watch(book, count_what_holds, &counting);
    replace(book, "s", "g", "cd", 2);
    assert_int_equal(counting.calls, 3);
}

/* The n-th allocation fails, n = 1, 2, ...: the book and the watcher see nothing of it. */
static void without_memory_nothing_changes(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    AUTOTEXT struct text text = { 0 };
    AUTOFAULTS struct faults faults = { .incomplete = true };
    for (char place = 'a'; place < 'a' + 20; place++)
        faults_add(&faults, (char[]){ place, '\0' }, "remedy", "broken");
    replace(book, "s", "f", "1", 1);
    replace(book, "s", "g", "bz", 1);
    replace(book, "s", "h", "2", 1);
    fault_book_watch(book, note, &text);

    int failures = 0;
    for (int r = -ENOMEM; r < 0; failures++) {
        allocations_left = failures;
        r = fault_book_replace(book, "s", "g", &faults, 2);
        allocations_left = -1;
        if (r == -ENOMEM) {
            assert_book(book, "s/f/1@1 s/g/b@1 s/g/z@1 s/h/2@1 ");
            assert_noted(&text, "");
        } else {
            assert_int_equal(r, 20); /* b was there, one says that the list is incomplete */
        }
    }
    assert_true(failures > 20);
    assert_int_equal(fault_book_count(book), 23);
}

/* Random replacements against a plain model. */
static void random_replacements_equal_the_model(void **state)
{
    (void)state;
    enum { GROUPS = 5, PLACES = 6, ROUNDS = 3000 };
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    int since[GROUPS][PLACES] = { 0 }; /* 0: not held */
    srand(11);

    for (int round = 1; round <= ROUNDS; round++) {
        int group = rand() % GROUPS, raised = 0;
        char places[PLACES + 1] = "";
        for (int i = 0, used = 0; i < PLACES; i++) {
            bool holds = rand() % 2;
            raised += holds && !since[group][i];
            since[group][i] = !holds ? 0 : since[group][i] ? since[group][i] : round;
            if (holds)
                places[used++] = (char)('a' + i);
        }
        char name[] = { (char)('0' + group), '\0' };
        assert_int_equal(replace(book, "s", name, places, round), raised);

        AUTOTEXT struct text expected = { 0 };
        for (int g = 0; g < GROUPS; g++)
            for (int i = 0; i < PLACES; i++)
                if (since[g][i])
                    text_addf(&expected, "s/%d/%c@%d ", g, 'a' + i, since[g][i]);
        assert_book(book, text_str(&expected));
        const struct known_fault *found = fault_book_find(book, "s", name);
        assert_int_equal(found ? *found->place : '\0', places[0]);
        assert_null(fault_book_find(book, "r", name));
    }
}

/* "code@place <- code@place " of every fault that follows from another one. */
static void assert_causes(const struct fault_book *book, const char *expected)
{
    AUTOTEXT struct text text = { 0 };
    for (size_t i = 0; i < fault_book_count(book); i++) {
        const struct known_fault *fault = fault_book_at(book, i);
        const struct known_fault *cause = fault_book_cause(book, fault);
        if (cause)
            text_addf(&text, "%s@%s <- %s@%s ", known_fault_code(fault), fault->place,
                      known_fault_code(cause), cause->place);
    }
    assert_string_equal(text_str(&text), expected);
}

/* BIRD's lost notifications are of all families; whoever reports which does not matter. */
static void a_fault_follows_from_one_that_holds(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    AUTOFAULTS struct faults stale = { 0 }, lost = { 0 };
    fault_raise(&stale, "IPv4", bird_routes_stale, .family = "IPv4", .table = 119);
    fault_raise(&stale, "IPv6", bird_routes_stale, .family = "IPv6", .table = 119);
    faults_add(&stale, "other", NULL, "of no row");
    fault_raise(&lost, "BIRD", bird_notifications_lost);
    fault_book_replace(book, "bgp", "routes", &stale, 1);
    assert_causes(book, "");
    fault_book_replace(book, "own", "socket", &lost, 2);
    assert_causes(book, "bird-routes-stale@IPv4 <- bird-notifications-lost@BIRD "
                        "bird-routes-stale@IPv6 <- bird-notifications-lost@BIRD ");
    fault_book_replace(book, "own", "socket", NULL, 3);
    assert_causes(book, "");
}

/* Another Egress whose gateway is gone is no cause. */
static void a_cause_of_the_same_subject_is_at_the_same_place(void **state)
{
    (void)state;
    CLEANUP(fault_book_freep) struct fault_book *book = fault_book_new();
    AUTOFAULTS struct faults faults = { 0 };
    fault_raise(&faults, "Egress a/a", egress_gateway_unreachable, .gateway = "10.0.0.1");
    fault_raise(&faults, "Egress a/b", egress_gateways_unreachable, .family = "4");
    fault_book_replace(book, "egress", "", &faults, 1);
    assert_causes(book, "");
    fault_raise(&faults, "Egress a/b", egress_gateway_unreachable, .gateway = "10.0.0.1");
    fault_book_replace(book, "egress", "", &faults, 2);
    assert_causes(book, "egress-gateways-unreachable@Egress a/b <- "
                        "egress-gateway-unreachable@Egress a/b ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_come_in_order),
        cmocka_unit_test(groups_are_pairs),
        cmocka_unit_test(what_stays_keeps_its_time),
        cmocka_unit_test(another_message_is_another_fault),
        cmocka_unit_test(another_reason_is_as_old_as_the_first),
        cmocka_unit_test(another_remedy_is_the_same_fault),
        cmocka_unit_test(twins_are_one),
        cmocka_unit_test(everything_is_copied),
        cmocka_unit_test(nothing_clears),
        cmocka_unit_test(an_incomplete_list_says_so),
        cmocka_unit_test(the_watcher_hears_each_change_once),
        cmocka_unit_test(another_count_is_the_same_fault),
        cmocka_unit_test(the_watcher_sees_the_new_book),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(random_replacements_equal_the_model),
        cmocka_unit_test(a_fault_follows_from_one_that_holds),
        cmocka_unit_test(a_cause_of_the_same_subject_is_at_the_same_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
