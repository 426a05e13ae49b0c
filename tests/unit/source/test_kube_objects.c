// SPDX-License-Identifier: Apache-2.0
/*
 * Objects that can't be read, in lists and in events: each is a fault of its own, its last good
 * version stays in force, and no other object is affected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube_fixture.h"

#include "cmocka_all.h"

#define GOOD LIST_OF("10", SERVICE("bad", "1", "10.0.0.1") "," SERVICE("web", "2", "10.0.0.2"))

/* An element or event object named d/bad whose part `extra` makes it unreadable. Four digits take
 * the place of its version. */
#define NAMED      "{\"metadata\":{\"name\":\"bad\",\"namespace\":\"d\",\"resourceVersion\":\"VERS\""
#define BAD(extra) NAMED "," extra "},\"spec\":{}}"

static char *repeat(const char *piece, size_t count, const char *end_piece)
{
    struct text text = { 0 };
    for (size_t i = 0; i < count; i++)
        text_add(&text, piece);
    for (size_t i = 0; i < count; i++)
        text_add(&text, end_piece);
    char *string = text_take(&text);
    assert_non_null(string);
    return string;
}

static char *deep_object(void)
{
    AUTOFREE char *nest = repeat("[", 10000, "]");
    return text_format(BAD("\"annotations\":{\"x\":%s}"), nest);
}

/* By the number of the case; the caller frees it. NULL: there are no more. */
static char *bad_object(size_t number, const char **ret_message)
{
    static const struct {
        const char *object, *message;
    } objects[] = {
        { NAMED "},\"spec\":5}", "expected a map" },
        { BAD("\"labels\":{\"a\":1}"), "put it in quotes" },
        { BAD("\"annotations\":{\"x\":\"\xff\xfe\"}"), "UTF-8" },
        { BAD("\"annotations\":{\"x\":\"\\u0000\"}"), "u0000 is not allowed" },
        { BAD("\"name\":\"bad\""), "twice" },
        { BAD("\"annotations\":{\"x\":01}"), "" },
        { NAMED "},\"kind\":\"Pod\"}", "the API says that it is a \"Pod\"" },
    };
    if (number < ARRAY_SIZE(objects)) {
        *ret_message = objects[number].message;
        return strdup(objects[number].object);
    }
    *ret_message = "deep";
    return number == ARRAY_SIZE(objects) ? deep_object() : NULL;
}

static void assert_kept(struct fixture *fx, const char *message)
{
    run_until(fx, has_group(fx, "Service"));
    if (!find_fault(fx, "Service", "Service d/bad", message))
        fail_msg("\"%s\" is not in \"%s\"", message,
                 find_fault(fx, "Service", NULL, NULL)->message);
    assert_true(has_service(fx, "bad", "10.0.0.1"));
    assert_true(has_service(fx, "web", "10.0.0.2"));
    assert_int_equal(fx->status.unknown_files, 0); /* it was known */
}

static void expire(struct fixture *fx)
{
    unsigned watched = fx->watched[KIND_SERVICE];
    say_event(fx, KIND_SERVICE, "ERROR", "{\"code\":410,\"message\":\"too old\"}");
    run_until(fx, fx->watched[KIND_SERVICE] > watched);
}

static void in_a_list(void **state)
{
    struct fixture *fx = *state;
    const char *message;
    char *bad;
    fx->lists[KIND_SERVICE] = GOOD;
    start_and_sync(fx);
    for (size_t i = 0; (bad = bad_object(i, &message)); i++) {
        AUTOFREE char *list = text_format(
            "{\"kind\":\"ServiceList\",\"items\":[%s,%s],\"metadata\":{\"resourceVersion\":"
            "\"10\"}}",
            bad, SERVICE("web", "2", "10.0.0.2"));
        free(bad);
        fx->lists[KIND_SERVICE] = list;
        expire(fx);
        assert_kept(fx, message);
        fx->lists[KIND_SERVICE] = GOOD;
        expire(fx);
        run_until(fx, !has_group(fx, "Service"));
    }
}

/* The caller frees it. */
static char *good_object(unsigned version)
{
    return text_format("{\"metadata\":{\"name\":\"bad\",\"namespace\":\"d\",\"resourceVersion\":"
                       "\"%u\"},\"spec\":{\"clusterIP\":\"10.0.0.1\",\"clusterIPs\":[\"10.0.0.1\"],"
                       "\"ports\":[{\"port\":80}]}}",
                       version);
}

static void in_an_event(void **state)
{
    struct fixture *fx = *state;
    const char *message;
    char *next;
    fx->lists[KIND_SERVICE] = GOOD;
    start_and_sync(fx);
    for (unsigned i = 0; (next = bad_object(i, &message)); i++) {
        AUTOFREE char *bad = next, *good = good_object(1000 + i);
        char *version = strstr(bad, "VERS");
        char digits[12];
        (void)snprintf(digits, sizeof(digits), "%u", 1000 + i);
        memcpy(version, digits, 4);
        say_event(fx, KIND_SERVICE, "MODIFIED", bad);
        assert_kept(fx, message);
        say_event(fx, KIND_SERVICE, "MODIFIED", good);
        run_until(fx, !has_group(fx, "Service"));
        say_event(fx, KIND_SERVICE, "MODIFIED", bad);
        run_until(fx, has_group(fx, "Service"));
        /* Its name is enough, unless it says that it is another kind's. */
        say_event(fx, KIND_SERVICE, "DELETED", strstr(bad, "Pod") ? good : bad);
        run_until(fx, !has_group(fx, "Service"));
        assert_int_equal(store_count(fx->store, KIND_SERVICE), 1);
        say_event(fx, KIND_SERVICE, "ADDED", good);
        run_until(fx, has_service(fx, "bad", "10.0.0.1"));
    }
    assert_int_equal(fx->watched[KIND_SERVICE], 1); /* it went on all the time */
}

/* As keys are sorted, an annotation without end hides the name of a custom resource. */
static void what_nobody_can_name_is_listed_again(void **state)
{
    struct fixture *fx = *state;
    AUTOFREE char *nest = repeat("[", 10000, "]");
    AUTOFREE char *nameless = text_format("{\"metadata\":{\"annotations\":{\"x\":%s}}}", nest);
    fx->lists[KIND_SERVICE] = GOOD;
    fx->timing.steady_ms = 1;
    start_and_sync(fx);
    say_event(fx, KIND_SERVICE, "MODIFIED", nameless);
    run_until(fx, find_fault(fx, "Service", "Service", "deep"));
    /* Whether what comes is the one meant, nobody knows before the next list. */
    say_event(fx, KIND_SERVICE, "MODIFIED", SERVICE("bad", "30", "10.0.0.3"));
    run_until(fx, has_service(fx, "bad", "10.0.0.3"));
    assert_true(has_group(fx, "Service"));
    fx->lists[KIND_SERVICE] =
        LIST_OF("30", SERVICE("bad", "30", "10.0.0.3") "," SERVICE("web", "2", "10.0.0.2"));
    fake_peer_end(fx->watches[KIND_SERVICE]);
    run_until(fx, !has_group(fx, "Service"));
    assert_int_equal(fx->listed[KIND_SERVICE], 2);

    /* The next watch is resumed as always. */
    run_until(fx, fx->watched[KIND_SERVICE] == 2);
    run_until(fx, kind_status(fx, KIND_SERVICE)->state == KUBE_WATCHING);
    fake_peer_end(fx->watches[KIND_SERVICE]);
    run_until(fx, fx->watched[KIND_SERVICE] == 3);
    assert_int_equal(fx->listed[KIND_SERVICE], 2);
}

static void an_event_of_nobody_is_passed_over(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = GOOD;
    start_and_sync(fx);
    say_event(fx, KIND_SERVICE, "MODIFIED",
              "{\"kind\":\"Service\",\"metadata\":{\"name\":[],\"resourceVersion\":\"40\"}}");
    run_until(fx, find_fault(fx, "Service", "Service", "no object with a name"));
    assert_string_equal(known_fault_code(find_fault(fx, "Service", "Service", NULL)),
                        "api-event-nameless");
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 2);
}

static void what_was_never_known_is_counted(void **state)
{
    struct fixture *fx = *state;
    fx->lists[KIND_SERVICE] = LIST_OF("10", "{\"metadata\":{\"name\":\"new\",\"namespace\":\"d\"},"
                                            "\"spec\":5}," SERVICE("web", "2", "10.0.0.2"));
    start_and_sync(fx);
    run_until(fx, has_group(fx, "Service"));
    assert_int_equal(fx->status.unknown_files, 1);
    assert_true(has_service(fx, "web", "10.0.0.2"));
    fx->lists[KIND_SERVICE] = LIST_OF("20", SERVICE("web", "2", "10.0.0.2"));
    expire(fx); /* it is gone, and what was said of it */
    run_until(fx, !has_group(fx, "Service"));
    assert_int_equal(fx->status.unknown_files, 0);
}

/* It may be any: nothing is taken out on account of such a list. */
static void an_element_without_a_name_takes_nothing_out(void **state)
{
    struct fixture *fx = *state;
    static const char *const nameless[] = {
        "7",
        "null",
        "{}",
        "{\"metadata\":{\"namespace\":\"d\"}}",
        "{\"metadata\":{\"name\":[]}}",
        "{\"metadata\":{\"name\":\"web\"}}",
        "{\"metadata\":{\"name\":\"web\",\"namespace\":\"\"}}",
        "{\"metadata\":{\"name\":\"\",\"namespace\":\"d\"},\"spec\":{}}",
        "{\"metadata\":{\"name\":\"Web!\",\"namespace\":\"d\"},\"spec\":{}}",
        "{\"metadata\":{\"name\":7,\"namespace\":\"d\"},\"spec\":{}}",
        "{\"metadata\":{\"name\":\"\",\"namespace\":\"d\"},\"spec\":\xff}",
        "{\"metadata\":{\"name\":\"a\\u0041\"},\"spec\":\xff}",
    };
    size_t told = 0; /* one by one; what is no JSON has a fault of its own */
    fx->lists[KIND_SERVICE] = GOOD;
    start_and_sync(fx);
    for (size_t i = 0; i < ARRAY_SIZE(nameless); i++) {
        AUTOFREE char *list = text_format(
            "{\"kind\":\"ServiceList\",\"items\":[%s],\"metadata\":{\"resourceVersion\":\"10\"}}",
            nameless[i]);
        fx->lists[KIND_SERVICE] = list;
        expire(fx);
        run_until(fx, find_fault(fx, "Service", "Service", NULL));
        const struct known_fault *fault = find_fault(fx, "Service", "Service", NULL);
        told += strcmp(known_fault_code(fault), "api-element-nameless") == 0;
        assert_int_equal(store_count(fx->store, KIND_SERVICE), 2);
        assert_int_equal(fx->status.unknown_files, 1);
        fx->lists[KIND_SERVICE] = GOOD;
        expire(fx);
        run_until(fx, !has_group(fx, "Service"));
    }
    assert_int_equal(told, ARRAY_SIZE(nameless) - 2);
}

static const char *huge;

static bool answer_hugely(struct fixture *fx, struct fake_peer *peer, enum kind kind)
{
    if (kind != KIND_SERVICE || strstr(peer->path, "watch=1") || fx->hooked++ > 0)
        return false;
    AUTOTEXT struct text answer = { 0 };
    text_addf(&answer, "HTTP/1.1 200 Said\r\nContent-Length: %zu\r\n\r\n%s", strlen(huge), huge);
    fake_peer_send_many(peer, answer.data, answer.length);
    return true;
}

static void an_element_that_is_too_long_is_passed_over(void **state)
{
    struct fixture *fx = *state;
    AUTOFREE char *filler = repeat("0123456789abcdef", (17 << 20) / 16, "");
    AUTOFREE char *list = text_format(
        "{\"kind\":\"ServiceList\",\"items\":[" BAD(
            "\"annotations\":{\"x\":\"%s\"}") ",%s],"
                                              "\"metadata\":{\"resourceVersion\":\"10\"}}",
        filler, SERVICE("web", "2", "10.0.0.2"));
    fx->lists[KIND_SERVICE] = GOOD;
    start_and_sync(fx);
    huge = list;
    fx->hook = answer_hugely;
    expire(fx);
    assert_kept(fx, "long");
}

static void few_of_many_faults_are_told(void **state)
{
    struct fixture *fx = *state;
    AUTOTEXT struct text list = { 0 };
    text_add(&list, "{\"kind\":\"ServiceList\",\"items\":[");
    for (int i = 0; i < 60; i++)
        text_addf(&list, "%s{\"metadata\":{\"name\":\"s%02d\",\"namespace\":\"d\"},\"spec\":5}",
                  i ? "," : "", i);
    text_add(&list, "],\"metadata\":{\"resourceVersion\":\"10\"}}");
    fx->lists[KIND_SERVICE] = text_str(&list);
    start_and_sync(fx);
    run_until(fx, find_fault(fx, "Service", "Service", "10 more objects have faults"));
    assert_int_equal(fault_book_count(fx->faults), 51);
    assert_int_equal(fx->status.unknown_files, 60);
}

/* Noting each of some 100,000 took the loop from its watchdog: what is such a list is refused. */
static void a_list_of_nothing_but_faults_is_refused(void **state)
{
    struct fixture *fx = *state;
    AUTOTEXT struct text list = { 0 };
    text_add(&list, "{\"items\":[");
    for (int i = 0; i < 10001; i++)
        text_addf(&list, "%s{\"metadata\":{\"name\":\"s%d\",\"namespace\":\"d\"},\"spec\":5}",
                  i ? "," : "", i);
    text_add(&list, "],\"metadata\":{\"resourceVersion\":\"20\"}}");
    fx->lists[KIND_SERVICE] = GOOD;
    start_and_sync(fx);
    fx->lists[KIND_SERVICE] = text_str(&list);
    say_event(fx, KIND_SERVICE, "ERROR", "{\"code\":410,\"message\":\"too old\"}");
    run_until(fx, find_fault(fx, "Service", "Service", "more than 10000 objects can't be read"));
    assert_int_equal(store_count(fx->store, KIND_SERVICE), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, kube_setup_fixture, kube_teardown_fixture)
        TEST(in_a_list),
        TEST(in_an_event),
        TEST(what_nobody_can_name_is_listed_again),
        TEST(an_event_of_nobody_is_passed_over),
        TEST(what_was_never_known_is_counted),
        TEST(an_element_without_a_name_takes_nothing_out),
        TEST(an_element_that_is_too_long_is_passed_over),
        TEST(few_of_many_faults_are_told),
        TEST(a_list_of_nothing_but_faults_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
