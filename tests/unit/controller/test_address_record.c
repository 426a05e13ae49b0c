// SPDX-License-Identifier: Apache-2.0
/* The record of claims that the job of addresses keeps: lost, unreadable, newer than what it is
 * read beside, and bounded. */
#include "address_world.h"

static void who_lost_the_record_reads_it_before_all_else(void **state)
{
    struct fixture *fx = *state;
    fx->conflicts = 2;
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, count_of(fx, "POST /api/v1/namespaces/n/configmaps") == 2);
    assert_int_equal(count_of(fx, "\n/api/v1/namespaces/n/configmaps/"), 2);
    assert_false(has(fx, "web", "203.0.113.0"));
    assert_string_equal(known_fault_code(fault_of(fx, "ConfigMap fingerpost-addresses")),
                        "controller-record-unwritten");
    run_job(fx, has(fx, "web", "203.0.113.0") && is_quiet(fx));
    run_job(fx, !fault_of(fx, "ConfigMap fingerpost-addresses"));
}

/* Whoever leads next would know nothing of what was given by it. */
static void a_record_that_was_not_stored_gives_nothing(void **state)
{
    struct fixture *fx = *state;
    fx->has_record = true;
    text_add(&fx->record, "{\"state\":\"{}\",\"seen\":\"\"}");
    fx->record_version = 7;
    fx->unstored = 2;
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, count_of(fx, "PATCH /api/v1/namespaces/n/configmaps/") == 2 &&
                    fault_of(fx, "ConfigMap fingerpost-addresses"));
    const struct known_fault *fault = fault_of(fx, "ConfigMap fingerpost-addresses");
    assert_string_equal(known_fault_code(fault), "controller-record-unstored");
    assert_non_null(strstr(fault->remedy, "admission webhook"));
    assert_false(has(fx, "web", "203.0.113.0"));
    fx->record_version = 0; /* each write has a version of its own */
    run_job(fx, has(fx, "web", "203.0.113.0") && is_quiet(fx));
    run_job(fx, !fault_of(fx, "ConfigMap fingerpost-addresses"));
}

static void a_record_that_cannot_be_read_stops_all(void **state)
{
    struct fixture *fx = *state;
    fx->has_record = true;
    text_add(&fx->record, "{\"state\":\"{\\\"pools\\\":7\",\"seen\":\"\"}");
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, fault_book_count(fx->status.faults) > 0);
    assert_string_equal(known_fault_code(fault_book_at(fx->status.faults, 0)),
                        "controller-record-unreadable");
    assert_int_equal(count_of(fx, "PATCH "), 0);
    assert_int_equal(count_of(fx, "POST /api/v1/namespaces/n/configmaps"), 0);
}

/* Somebody has emptied it: what it said of addresses is not known. */
static void a_record_without_a_state_stops_all(void **state)
{
    struct fixture *fx = *state;
    fx->has_record = true;
    text_add(&fx->record, "{\"state\":\"\",\"seen\":\"\"}");
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, fault_book_count(fx->status.faults) > 1);
    bool stateless = false, unreadable = false;
    for (size_t i = 0; i < fault_book_count(fx->status.faults); i++) {
        const char *code = known_fault_code(fault_book_at(fx->status.faults, i));
        stateless |= strcmp(code, "controller-record-stateless") == 0;
        unreadable |= strcmp(code, "controller-record-unreadable") == 0;
    }
    assert_true(stateless && unreadable);
    assert_int_equal(count_of(fx, "PATCH "), 0);
}

static void a_record_newer_than_the_services_is_waited_for(void **state)
{
    struct fixture *fx = *state;
    fx->has_record = true;
    text_add(&fx->record, "{\"state\":\"{}\",\"seen\":\"1000\"}");
    fx->record_version = 1001;
    put_pool(fx);
    put_service(fx, "web");
    struct address_job *job = (struct address_job *)fx->job;
    run_job(fx, job->retry_ms != INT64_MAX);
    assert_int_equal(count_of(fx, "PATCH "), 0);
    fx->version = 1000;
    put_service(fx, "web");
    run_job(fx, has(fx, "web", "203.0.113.0"));
}

/* etcd was restored from a backup, and the record was written since then by who had seen more. */
static void what_was_seen_beyond_the_record_is_not_waited_for(void **state)
{
    struct fixture *fx = *state;
    fx->has_record = true;
    text_add(&fx->record, "{\"state\":\"{}\",\"seen\":\"1000000\"}");
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, has(fx, "web", "203.0.113.0"));
}

/* As many as fit are claimed; the others when those have been told. */
static void the_record_is_bounded(void **state)
{
    enum { SERVICES = 1600, KEPT = 1000 };
    struct fixture *fx = *state;
    char name[16];
    put(fx, "{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, "
            "metadata: {name: lb, namespace: lb}, spec: {addresses: [198.18.0.0/16]}}");
    for (int i = 0; i < SERVICES; i++) {
        (void)snprintf(name, sizeof(name), "s%04d", i);
        put_service(fx, name);
    }
    const struct address_job *job = (const struct address_job *)fx->job;
    run_job(fx, job->written > 0 || job->writing > 0);
    size_t chosen = 0;
    sorted_each(struct behind *const, behind, &job->behind)
        chosen += (*behind)->chosen;
    assert_int_equal(chosen, KEPT);
    run_job(fx, job->allocator.assignments.rows.count == SERVICES && is_quiet(fx));
    assert_true(count_of(fx, "PATCH /api/v1/namespaces/n/configmaps/") < 20);
    assert_int_equal(count_of(fx, "PATCH /api/v1/namespaces/default/services/"), SERVICES);
}

/* A ConfigMap's data are a MiB at most; what rests the longest is left out, not what is given. */
static void a_record_with_the_longest_names_fits(void **state)
{
    enum { RESTING = 4500, RANGES = 9000, LIMIT = 1048576, NAME_MAX_LENGTH = 63 };
    struct fixture *fx = *state;
    struct address_job *job = (struct address_job *)fx->job;
    char name[NAME_MAX_LENGTH + 1];
    fx->config.addresses.rest_ms = INT64_MAX;
    run_job(fx, job->begun);
    AUTOTEXT struct text pool = { 0 };
    text_add(&pool, "{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: lb, "
                    "namespace: lb}, spec: {addresses: [198.18.99.0");
    for (int i = 0; i < RANGES; i++)
        text_addf(&pool, ", 198.18.%d.%d", 100 + i / 100, 100 + i % 100);
    text_add(&pool, "]}}");
    put(fx, text_str(&pool));
    for (int i = 0; i < RESTING; i++) {
        struct ip ip = { IP_V6,
                         { 0xfd, 1, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
                           0xcc, 0xdd, (uint8_t)(0x10 + i / 256), (uint8_t)(i % 256) } };
        (void)snprintf(name, sizeof(name), "%063d", i);
        assert_int_equal(
            assignments_rest(&job->allocator.assignments, &ip, clock_wall_ms(), name, name), 0);
    }
    put_service(fx, "web");
    run_job(fx, has(fx, "web", "198.18.99.0"));
    size_t escapes = 0;
    for (const char *at = text_str(&fx->record); (at = strchr(at, '\\')); at++)
        escapes++;
    assert_in_range(fx->record.length - escapes, LIMIT / 4, LIMIT - 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(who_lost_the_record_reads_it_before_all_else),
        CASE(a_record_that_was_not_stored_gives_nothing),
        CASE(a_record_without_a_state_stops_all),
        CASE(a_record_that_cannot_be_read_stops_all),
        CASE(a_record_newer_than_the_services_is_waited_for),
        CASE(what_was_seen_beyond_the_record_is_not_waited_for),
        CASE(the_record_is_bounded),
        CASE(a_record_with_the_longest_names_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
