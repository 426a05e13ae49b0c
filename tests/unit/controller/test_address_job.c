// SPDX-License-Identifier: Apache-2.0
/*
 * The job of addresses: what is written in which order, and what becomes of it when something is
 * refused.
 */
#include "address_world.h"

/* ---- The cases ---- */

static void a_gift_is_claimed_before_it_is_told(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, has(fx, "web", "203.0.113.0") && is_quiet(fx));
    const char *heard = text_str(&fx->api.heard);
    const char *claim = strstr(heard, "POST /api/v1/namespaces/n/configmaps");
    assert_non_null(claim);
    assert_non_null(strstr(claim, "PATCH /api/v1/namespaces/default/services/web/status"));
    assert_int_equal(count_of(fx, "PATCH /api/v1/namespaces/default/services/"), 1);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

static void what_another_has_claimed_is_given(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_service(fx, "web");
    put_service(fx, "api");
    fx->refused = "api";
    run_job(fx, has(fx, "web", "203.0.113.1") || has(fx, "web", "203.0.113.0"));
    bool first = has(fx, "web", "203.0.113.0");
    /* Who leads next has the record alone to know of the one that was on its way. */
    fx->refused = NULL;
    job_lead(fx->job, false);
    take_out(fx, KIND_SERVICE, "web");
    put_service(fx, "next");
    job_lead(fx->job, true);
    run_job(fx, has(fx, "api", first ? "203.0.113.1" : "203.0.113.0"));
    run_job(fx, is_quiet(fx));
    assert_false(has(fx, "next", first ? "203.0.113.1" : "203.0.113.0"));
}

static void a_refusal_is_of_one_service_and_ends_with_it(void **state)
{
    struct fixture *fx = *state;
    fx->refused = "bad";
    put_pool(fx);
    put_service(fx, "bad");
    run_job(fx, fault_of(fx, "Service default/bad"));
    assert_string_equal(fault_of(fx, "Service default/bad")->remedy,
                        "allow it by deploy/kubernetes/controller.yaml");
    put_service(fx, "good");
    run_job(fx, has(fx, "good", "203.0.113.1"));
    run_job(fx, count_of(fx, "PATCH /api/v1/namespaces/default/services/bad/") >= 3);
    run_job(fx, !fx->woken);
    assert_non_null(fault_of(fx, "Service default/bad"));

    take_out(fx, KIND_SERVICE, "bad");
    run_job(fx, !fault_of(fx, "Service default/bad"));
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

static void who_leads_no_more_tells_no_faults(void **state)
{
    struct fixture *fx = *state;
    fx->refused = "bad";
    put_pool(fx);
    put_service(fx, "bad");
    run_job(fx, fault_of(fx, "Service default/bad"));
    job_lead(fx->job, false);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

static void a_pools_counts_are_written_while_it_is_there(void **state)
{
    struct fixture *fx = *state;
    static const char status[] =
        "PATCH /apis/metallb.io/v1beta1/namespaces/lb/ipaddresspools/lb/status";
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, has(fx, "web", "203.0.113.0") && is_quiet(fx));
    run_job(fx, count_of(fx, status) > 0);
    const struct address_job *job = (const struct address_job *)fx->job;
    const struct object *object = store_get(fx->store, KIND_IP_POOL, "lb", "lb");
    assert_ptr_equal(pool_desk_find(&job->desk, object), &job->desk.table.pools.items[0]);
    take_out(fx, KIND_SERVICE, "web");
    take_out(fx, KIND_IP_POOL, "lb");
    run_job(fx, job->desk.table.pools.count == 0 && is_quiet(fx));
}

static void nothing_is_given_beside_a_living_rival(void **state)
{
    struct fixture *fx = *state;
    put(fx, "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, "
            "metadata: {name: m, namespace: lb, labels: {kubernetes.io/service-name: "
            "metallb-webhook-service}}, endpoints: [{addresses: [10.9.9.9], conditions: "
            "{ready: true}}], ports: []}");
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, fault_of(fx, "MetalLB"));
    assert_int_equal(count_of(fx, "PATCH "), 0);
    assert_int_equal(store_remove(fx->store, "test", KIND_ENDPOINT_SLICE, "lb", "m"), 1);
    fx->woken = true;
    run_job(fx, has(fx, "web", "203.0.113.0"));
    assert_null(fault_of(fx, "MetalLB"));
}

static void who_lost_the_record_reads_it_before_all_else(void **state)
{
    struct fixture *fx = *state;
    fx->conflicts = 2;
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, count_of(fx, "POST /api/v1/namespaces/n/configmaps") == 2);
    assert_int_equal(count_of(fx, "\n/api/v1/namespaces/n/configmaps/"), 2);
    assert_false(has(fx, "web", "203.0.113.0"));
    assert_non_null(fault_of(fx, "ConfigMap fingerpost-addresses"));
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
    run_job(fx, fault_of(fx, "ConfigMap fingerpost-addresses") ||
                    fault_book_count(fx->status.faults) > 0);
    assert_int_equal(count_of(fx, "PATCH "), 0);
    assert_int_equal(count_of(fx, "POST /api/v1/namespaces/n/configmaps"), 0);
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
    run_job(fx, job->desk.assignments.rows.count == SERVICES && is_quiet(fx));
    assert_true(count_of(fx, "PATCH /api/v1/namespaces/n/configmaps/") < 20);
    assert_int_equal(count_of(fx, "PATCH /api/v1/namespaces/default/services/"), SERVICES);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_gift_is_claimed_before_it_is_told),
        CASE(what_another_has_claimed_is_given),
        CASE(a_refusal_is_of_one_service_and_ends_with_it),
        CASE(who_leads_no_more_tells_no_faults),
        CASE(a_pools_counts_are_written_while_it_is_there),
        CASE(nothing_is_given_beside_a_living_rival),
        CASE(who_lost_the_record_reads_it_before_all_else),
        CASE(a_record_that_cannot_be_read_stops_all),
        CASE(a_record_newer_than_the_services_is_waited_for),
        CASE(what_was_seen_beyond_the_record_is_not_waited_for),
        CASE(the_record_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
