// SPDX-License-Identifier: Apache-2.0
/* Which Services wait for an address, from when on that is a fault, and when it is none any more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "detect/detector.h"
#include "engine/detectors/service_watch.h"
#include "format/reader.h"
#include "model/object.h"

#include "raised.h"

enum { START_MS = 1000 };

struct fixture {
    struct config *config;
    struct store *store;
    struct status status;
    struct service_watch *watch;
    int64_t now_ms;
};

static int setup(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));
    assert_non_null(fx);
    assert_int_equal(config_default("/m", &fx->config), 0);
    fx->store = store_new();
    fx->status.faults = fault_book_new();
    assert_true(fx->store && fx->status.faults);
    const struct engine_setup given = { .config = fx->config,
                                        .store = fx->store,
                                        .status = &fx->status };
    assert_int_equal(service_watch_new(&given, &fx->watch), 0);
    fx->now_ms = START_MS;
    *state = fx;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fx = *state;
    service_watch_free(fx->watch);
    fault_book_free(fx->status.faults);
    store_free(fx->store);
    config_free(fx->config);
    free(fx);
    return 0;
}

static void put(struct fixture *fx, const char *name, const char *spec, const char *status)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    AUTOFREE char *yaml = text_format("apiVersion: v1\nkind: Service\n"
                                      "metadata: {name: %s, namespace: d}\n"
                                      "spec: {type: LoadBalancer, clusterIPs: [10.96.0.1], "
                                      "ports: [{port: 80}]%s}\nstatus: {%s}\n",
                                      name, spec, status);
    assert_int_equal(document_parse(yaml, strlen(yaml), "t", READER_YAML, &document, &faults), 1);
    assert_int_equal(object_decode(document, &object, NULL, &faults, &faults), 1);
    assert_true(store_put(fx->store, "t", object) >= 0);
}

/* A round; over what changed, or all. */
static void pass(struct fixture *fx, bool all)
{
    AUTOVEC change_list changes = { 0 };
    assert_int_equal(store_changes(fx->store, &changes), 0);
    vec_each(const struct change, change, &changes)
        assert_int_equal(service_watch_note(fx->watch, change, fx->now_ms), 0);
    assert_int_equal(service_watch_plan(fx->watch, all, fx->now_ms), 0);
    service_watch_publish(fx->watch, fx->now_ms);
    store_changes_done(fx->store);
}

/* When the time has come that the engine asks for. */
static void pass_when_due(struct fixture *fx)
{
    int64_t next_ms = service_watch_next_ms(fx->watch);
    assert_in_range(next_ms, fx->now_ms + 1, fx->now_ms + detector_find("service-waits")->hold_ms);
    fx->now_ms = next_ms;
    pass(fx, false);
}

static const struct known_fault *fault_at(const struct fixture *fx, size_t i)
{
    return fault_book_at(fx->status.faults, i);
}

#define GIVEN "loadBalancer: {ingress: [{ip: 192.0.2.1}]}"

static void it_is_a_fault_after_a_moment(void **state)
{
    struct fixture *fx = *state;
    put(fx, "a", "", "");
    pass(fx, false);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
    fx->now_ms += 1000;
    put(fx, "b", "", "");
    pass(fx, false);
    pass_when_due(fx);
    assert_int_equal(fault_book_count(fx->status.faults), 1);
    assert_string_equal(fault_at(fx, 0)->place, "Service d/a");
    assert_string_equal(known_fault_code(fault_at(fx, 0)), "service-waits-for-address");
    pass_when_due(fx);
    assert_int_equal(fault_book_count(fx->status.faults), 2);
    assert_true(service_watch_next_ms(fx->watch) == INT64_MAX);

    put(fx, "a", "", GIVEN);
    pass(fx, false);
    assert_int_equal(fault_book_count(fx->status.faults), 1);
    assert_string_equal(fault_at(fx, 0)->place, "Service d/b");
    assert_true(store_remove(fx->store, "t", KIND_SERVICE, "d", "b") >= 0);
    pass(fx, false);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

/* Whose addresses others give, who wants none, and who has one waits for nobody. */
static void others_do_not_wait(void **state)
{
    struct fixture *fx = *state;
    put(fx, "class", ", loadBalancerClass: example.org/other", "");
    put(fx, "external", ", externalIPs: [192.0.2.7]", "");
    put(fx, "given", "", GIVEN);
    pass(fx, false);
    assert_true(service_watch_next_ms(fx->watch) == INT64_MAX);
}

static void a_hostname_is_told_as_another_balancers(void **state)
{
    struct fixture *fx = *state;
    put(fx, "a", "", "loadBalancer: {ingress: [{hostname: lb.example.com}]}");
    pass(fx, false);
    pass_when_due(fx);
    assert_string_equal(known_fault_code(fault_at(fx, 0)), "service-has-hostname");
    assert_string_equal(fault_at(fx, 0)->message,
                        "waits for an address: another balancer has written a hostname into "
                        "status.loadBalancer.ingress: lb.example.com");
}

/* A configuration that counts otherwise, and a round over all. */
static void all_are_judged_anew(void **state)
{
    struct fixture *fx = *state;
    put(fx, "a", "", "");
    pass(fx, false);
    fx->now_ms += detector_find("service-waits")->hold_ms;
    pass(fx, true);
    assert_int_equal(fault_book_count(fx->status.faults), 1);
    fx->config->services.advertise = ADVERTISE_EXTERNAL;
    pass(fx, true);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

static void many_are_counted(void **state)
{
    struct fixture *fx = *state;
    char name[16];
    for (int i = 0; i < DETECTOR_UNITS_TOLD + 3; i++) {
        (void)snprintf(name, sizeof(name), "s%02d", i);
        put(fx, name, "", "");
    }
    pass(fx, false);
    pass_when_due(fx);
    assert_int_equal(fault_book_count(fx->status.faults), DETECTOR_UNITS_TOLD + 1);
    assert_string_equal(known_fault_code(fault_at(fx, DETECTOR_UNITS_TOLD)), "services-waiting");
    assert_string_equal(fault_at(fx, DETECTOR_UNITS_TOLD)->message, "3 more wait for an address");
}

#define OPEN ", loadBalancerSourceRanges: [10.0.0.0/8], externalIPs: "

static void allow_external(struct fixture *fx)
{
    struct prefix range;
    fx->config->services.enabled = true;
    assert_int_equal(prefix_parse("198.51.100.0/24", &range), 0);
    assert_int_equal(vec_push(&fx->config->services.external_ips, range), 0);
}

/* It is the same fault, with the time since when it is known. */
static void other_words_begin_no_new_wait(void **state)
{
    struct fixture *fx = *state;
    allow_external(fx);
    put(fx, "a", OPEN "[198.51.100.7]", "");
    pass(fx, false);
    const int64_t due_ms = service_watch_next_ms(fx->watch);
    fx->now_ms += 10;
    put(fx, "a", OPEN "[198.51.100.8]", "");
    pass(fx, false);
    assert_int_equal(service_watch_next_ms(fx->watch), due_ms);
    fx->now_ms = due_ms;
    pass(fx, false);
    assert_non_null(strstr(fault_at(fx, 0)->message, "198.51.100.8"));
    put(fx, "a", OPEN "[198.51.100.9]", "");
    pass(fx, false);
    assert_int_equal(fault_book_count(fx->status.faults), 1);
    assert_non_null(strstr(fault_at(fx, 0)->message, "198.51.100.9"));
}

static void many_lacks_are_counted(void **state)
{
    struct fixture *fx = *state;
    char name[16];
    allow_external(fx);
    for (int i = 0; i < DETECTOR_UNITS_TOLD + 2; i++) {
        (void)snprintf(name, sizeof(name), "s%02d", i);
        put(fx, name, OPEN "[198.51.100.7]", "");
    }
    pass(fx, false);
    fx->now_ms = service_watch_next_ms(fx->watch);
    pass(fx, false);
    assert_int_equal(fault_book_count(fx->status.faults), DETECTOR_UNITS_TOLD + 1);
    const struct known_fault *rest = fault_at(fx, DETECTOR_UNITS_TOLD);
    assert_string_equal(known_fault_code(rest), "services-lacking");
    assert_string_equal(rest->message, "2 more lack something");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_a_fault_after_a_moment, setup, teardown),
        cmocka_unit_test_setup_teardown(others_do_not_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hostname_is_told_as_another_balancers, setup, teardown),
        cmocka_unit_test_setup_teardown(all_are_judged_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(many_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(many_lacks_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(other_words_begin_no_new_wait, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
