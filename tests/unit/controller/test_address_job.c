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

/* No refusal, and nothing comes of it for ever: an admission webhook, a proxy, an API server that
 * lies. */
static void what_is_not_done_is_told_and_asked_for_ever_later(void **state)
{
    struct fixture *fx = *state;
    static const struct {
        int lie;
        const char *name;
        const char *told, *remedy;
        size_t least, most; /* writes until then */
    } cases[] = {
        { CONFLICTS, "a", "its status can't be written: 409: no", "who changes it meanwhile", 9,
          9 },
        { GARBAGE, "b", "its status can't be written: what answers is not the API",
          "who it is that", 5, 5 },
        { BUSY, "c", "its status can't be written: 429: ", "who asks so much", 1, 1 },
        { UNSTORED, "d",
          "its status can't be written: the API answers that it was written, and it is not so",
          "admission webhook", 2, 2 },
    };
    put_pool(fx);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *name = cases[i].name;
        AUTOFREE char *place = text_format("Service default/%s", name);
        AUTOFREE char *request =
            text_format("PATCH /api/v1/namespaces/default/services/%s/status", name);
        AUTOFREE char *given = text_format("203.0.113.%zu", i);
        fx->lie = cases[i].lie;
        put_service(fx, name);
        int64_t began_ms = clock_mono_ms();
        run_job(fx, fault_of(fx, place));
        assert_in_range(clock_mono_ms() - began_ms, 0, 15000); /* 1.3 to 2 s, on a busy host more */
        const struct known_fault *fault = fault_of(fx, place);
        if (!strstr(fault->message, cases[i].told))
            fail_msg("no \"%s\" but %s", cases[i].told, fault->message);
        assert_non_null(strstr(fault->remedy, cases[i].remedy));
        assert_in_range(count_of(fx, request), cases[i].least, cases[i].most);
        fx->lie = HONEST;
        put_service(fx, name); /* a change comes at once, where the API does not ask for time */
        run_job(fx, has(fx, name, given) && !fault_of(fx, place));
    }
}

/* By itself: nothing in the cluster tells that it is due. */
static void what_was_not_stored_is_written_again(void **state)
{
    struct fixture *fx = *state;
    fx->lie = UNSTORED;
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, count_of(fx, "PATCH /api/v1/namespaces/default/services/web/status") > 0);
    fx->lie = HONEST;
    run_job(fx, has(fx, "web", "203.0.113.0"));
    assert_int_equal(count_of(fx, "PATCH /api/v1/namespaces/default/services/web/status"), 2);
    assert_int_equal(fault_book_count(fx->status.faults), 0);
}

static void who_leads_no_more_tells_no_faults(void **state)
{
    struct fixture *fx = *state;
    fx->refused = "bad";
    put_pool(fx);
    put_service(fx, "bad");
    run_job(fx, fault_of(fx, "Service default/bad"));
    /* As address_lingers.c tells it, ten seconds after a deletion. */
    AUTOFAULTS struct faults lingers = { 0 };
    faults_add(&lingers, "Service default/late", NULL, "is deleted");
    assert_true(fault_book_replace(fx->status.faults, "addresses", "lingers", &lingers,
                                   clock_wall_ms()) >= 0);
    assert_int_equal(fault_book_count(fx->status.faults), 2);
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
    assert_ptr_equal(pool_allocator_find(&job->allocator, object),
                     &job->allocator.table.pools.items[0]);
    take_out(fx, KIND_SERVICE, "web");
    take_out(fx, KIND_IP_POOL, "lb");
    run_job(fx, job->allocator.table.pools.count == 0 && is_quiet(fx));
}

/* What there is to write to pools has been written. */
static bool is_counted(const struct fixture *fx)
{
    struct job_status status = { 0 };
    job_publish(fx->job, &status);
    return is_quiet(fx) && status.writes.waiting == 0;
}

#define STATUS_OF(name) \
    "PATCH /apis/metallb.io/v1beta1/namespaces/lb/ipaddresspools/" name "/status"

/* Else each change of a Service would be a write for each pool of the cluster. */
static void only_counts_that_differ_are_written(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_pool_status(fx, "other",
                    "{assignedIPv4: 0, assignedIPv6: 0, availableIPv4: 8, "
                    "availableIPv6: 0}");
    put_service(fx, "web");
    run_job(fx, is_counted(fx) && has(fx, "web", "203.0.113.0"));
    const size_t writes = count_of(fx, STATUS_OF("lb"));
    assert_in_range(writes, 1, 2);
    assert_int_equal(count_of(fx, STATUS_OF("other")), 0);

    /* What somebody else has written is written over with the next change, and nothing else. */
    put_pool_status(fx, "lb", "{assignedIPv4: 7, assignedIPv6: 0, availableIPv4: 1}");
    put_service(fx, "api");
    run_job(fx, is_counted(fx) && has(fx, "api", "203.0.113.1"));
    assert_int_equal(count_of(fx, STATUS_OF("lb")), writes + 1);
    assert_int_equal(count_of(fx, STATUS_OF("other")), 0);
}

/* A write that the source has not told of yet: what it tells is older than what stands. */
static void counts_that_come_back_before_they_are_heard_of_are_written(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, is_counted(fx) && has(fx, "web", "203.0.113.0"));
    const size_t writes = count_of(fx, STATUS_OF("lb"));
    fx->unheard = true;
    put_service(fx, "api");
    run_job(fx, has(fx, "api", "203.0.113.1") && count_of(fx, STATUS_OF("lb")) > writes);
    take_out(fx, KIND_SERVICE, "api");
    run_job(fx, count_of(fx, STATUS_OF("lb")) > writes + 1 && is_quiet(fx));
}

static void a_status_of_another_assigner_is_left_and_told(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_status(fx, "cloud", "{loadBalancer: {ingress: [{hostname: lb.example.com}]}}");
    put_status(fx, "outside", "{loadBalancer: {ingress: [{ip: 198.51.100.9}]}}");
    put_service(fx, "web");
    run_job(fx, has(fx, "web", "203.0.113.0") && is_quiet(fx));
    assert_int_equal(count_of(fx, "/services/cloud/"), 0);
    assert_int_equal(count_of(fx, "/services/outside/"), 0);
    assert_int_equal(count_of(fx, "/events"), 0);
    assert_string_equal(fault_of(fx, "Service default/cloud")->message,
                        "is given no address out of pools: its status is another assigner's, and "
                        "is left as it is: hostname lb.example.com");
    assert_non_null(strstr(fault_of(fx, "Service default/outside")->message, "198.51.100.9"));

    put_service(fx, "cloud");
    run_job(fx, has(fx, "cloud", "203.0.113.1") && is_quiet(fx));
    assert_null(fault_of(fx, "Service default/cloud"));
    /* It comes over ours: the address stays the Service's, and the status is the other's. */
    const size_t writes = count_of(fx, "/services/cloud/");
    put_status(fx, "cloud",
               "{conditions: [{type: fingerpost.io/AddressAssigned, status: 'True'}], "
               "loadBalancer: {ingress: [{hostname: lb.example.com}]}}");
    put_service(fx, "api");
    run_job(fx, has(fx, "api", "203.0.113.2") && is_quiet(fx));
    assert_non_null(fault_of(fx, "Service default/cloud"));
    assert_int_equal(count_of(fx, "/services/cloud/"), writes);
}

static const char anothers[] =
    "{conditions: [{type: fingerpost.io/AddressAssigned, status: 'True', reason: Assigned}], "
    "loadBalancer: {ingress: [{ip: 203.0.113.0}]}}";

/* By hand, or by a backup of etcd. Nothing but the Event says why the address is not there. */
static void an_event_says_who_has_the_address_that_a_status_names(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, has(fx, "web", "203.0.113.0") && is_quiet(fx));
    put_status(fx, "api", anothers);
    run_job(fx, has(fx, "api", "203.0.113.1") && fx->events.length && is_quiet(fx));
    static const char why[] = "203.0.113.0: the address is another's: Service default/web";
    assert_non_null(strstr(text_str(&fx->events), why));
    assert_non_null(strstr(text_str(&fx->events), "AddressLost"));
    assert_int_equal(count_of(fx, "POST /apis/events.k8s.io/v1/"), 1);
    const struct address_job *job = (const struct address_job *)fx->job;
    assert_int_equal(service_notes_count(&job->losses), 0);

    /* Its own request is no loss. */
    text_done(&fx->events);
    put(fx, "{apiVersion: v1, kind: Service, metadata: {name: api, uid: u-api, resourceVersion: "
            "'99', annotations: {fingerpost.io/loadBalancerIPs: 203.0.113.5}}, spec: {type: "
            "LoadBalancer, clusterIP: 10.96.0.1, ports: [{port: 80}]}, status: {loadBalancer: "
            "{ingress: [{ip: 203.0.113.1}]}}}");
    run_job(fx, has(fx, "api", "203.0.113.5") && is_quiet(fx));
    assert_int_equal(fx->events.length, 0);
}

/* Of a status that can't be written either: told once, not with each change of others. */
static void a_loss_is_told_once(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, has(fx, "web", "203.0.113.0") && is_quiet(fx));
    fx->refused = "api";
    put_status(fx, "api", anothers);
    run_job(fx, fx->events.length && fault_of(fx, "Service default/api"));
    const struct address_job *job = (const struct address_job *)fx->job;
    put_status(fx, "api", anothers);
    put_service(fx, "more");
    run_job(fx, has(fx, "more", "203.0.113.2"));
    assert_int_equal(count_of(fx, "POST /apis/events.k8s.io/v1/"), 1);
    assert_int_equal(service_notes_count(&job->losses), 1);
    take_out(fx, KIND_SERVICE, "api");
    run_job(fx, service_notes_count(&job->losses) == 0);
}

/* Of another class by now, and its balancer has written already. */
static void who_leaves_us_takes_our_condition_off_and_nothing_else(void **state)
{
    struct fixture *fx = *state;
    put_pool(fx);
    put_service(fx, "web");
    run_job(fx, has(fx, "web", "203.0.113.0") && is_quiet(fx));
    put(fx, "{apiVersion: v1, kind: Service, metadata: {name: web, uid: u-web, resourceVersion: "
            "'99'}, spec: {type: LoadBalancer, loadBalancerClass: example.com/other, clusterIP: "
            "10.96.0.1, ports: [{port: 80}]}, status: {conditions: [{type: "
            "fingerpost.io/AddressAssigned, status: 'True'}], loadBalancer: {ingress: [{ip: "
            "198.51.100.9}]}}}");
    run_job(fx, fx->removal.length);
    assert_null(strstr(text_str(&fx->removal), "ingress"));
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
    assert_string_equal(known_fault_code(fault_of(fx, "MetalLB")), "controller-metallb-alive");
    assert_int_equal(count_of(fx, "PATCH "), 0);
    assert_int_equal(store_remove(fx->store, "test", KIND_ENDPOINT_SLICE, "lb", "m"), 1);
    fx->woken = true;
    run_job(fx, has(fx, "web", "203.0.113.0"));
    assert_null(fault_of(fx, "MetalLB"));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_gift_is_claimed_before_it_is_told),
        CASE(what_another_has_claimed_is_given),
        CASE(a_refusal_is_of_one_service_and_ends_with_it),
        CASE(what_is_not_done_is_told_and_asked_for_ever_later),
        CASE(what_was_not_stored_is_written_again),
        CASE(who_leads_no_more_tells_no_faults),
        CASE(a_pools_counts_are_written_while_it_is_there),
        CASE(only_counts_that_differ_are_written),
        CASE(counts_that_come_back_before_they_are_heard_of_are_written),
        CASE(nothing_is_given_beside_a_living_rival),
        CASE(a_status_of_another_assigner_is_left_and_told),
        CASE(an_event_says_who_has_the_address_that_a_status_names),
        CASE(a_loss_is_told_once),
        CASE(who_leaves_us_takes_our_condition_off_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
