// SPDX-License-Identifier: Apache-2.0
/*
 * The proof against a twin that answers from the same row, and is then made to err: each kind of
 * answer that differs must be found and told. The real twin is test_nat_twin.c's.
 */
#include <errno.h>

#include "nat_proof_lab.h"

/* ---- tests ---- */

static void test_what_is_planned_is_served(void **state)
{
    struct lab *lab = *state;

    assert_int_equal(prove(lab), 0);
    assert_int_equal(lab->proofs.count, 2); /* a node port gives no address */
    expect_proof(lab, 0, "10.0.0.1", "");
    expect_proof(lab, 1, "10.96.0.10", "");
    assert_true(faults_none(&lab->faults));
    /* Each frontend from each kind of source, and two further slots of one set. */
    assert_int_equal(lab->datapath.runs, 3 * 3 + 2);
}

static void test_refusals_are_proved_too(void **state)
{
    struct lab *lab = *state;
    struct nat_frontend *frontends = lab->row->families[0].frontends.items;

    frontends[0].from[NAT_ORIGIN_OUTSIDE] =
        (struct nat_outcome){ NAT_ACT_DROP, NAT_CAUSE_NO_LOCAL, NAT_SET_LOCAL, false };
    for (enum nat_origin i = 0; i < NAT_ORIGINS; i++)
        frontends[1].from[i] =
            (struct nat_outcome){ NAT_ACT_REJECT, NAT_CAUSE_NO_ENDPOINTS, 0, false };
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", ""); /* for pods */
    expect_proof(lab, 1, "10.96.0.10", "nothing from outside or a pod is forwarded here");
    assert_true(faults_none(&lab->faults));

    frontends[0].from[NAT_ORIGIN_POD] = frontends[0].from[NAT_ORIGIN_OUTSIDE];
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "nothing from outside or a pod is forwarded here");
    assert_true(faults_none(&lab->faults));
}

static void bend_act(struct nat_answer *answer)
{
    *answer = (struct nat_answer){ .act = NAT_ACT_PASS };
}

static void bend_cause(struct nat_answer *answer)
{
    answer->act = NAT_ACT_REJECT;
    answer->cause = NAT_CAUSE_NO_ENDPOINTS;
}

static void bend_route(struct nat_answer *answer)
{
    answer->route = 2;
}

static void bend_no_route(struct nat_answer *answer)
{
    answer->act = NAT_ACT_DROP;
    answer->cause = NAT_CAUSE_NO_ROUTE;
    answer->route = 4;
}

static void bend_masquerade(struct nat_answer *answer)
{
    answer->masquerade = answer->masquerade ? NAT_MASQUERADE_NO : NAT_MASQUERADE_YES;
}

static void bend_set(struct nat_answer *answer)
{
    answer->set = NAT_SET_LOCAL;
}

static void bend_count(struct nat_answer *answer)
{
    answer->count--;
}

static void bend_endpoint(struct nat_answer *answer)
{
    answer->endpoint_value.port = 8081;
}

static void bend_to_first(struct nat_answer *answer)
{
    answer->endpoint_value.ip = ip("10.244.1.6"); /* which slot 1 has */
}

static void bend_port(struct nat_answer *answer)
{
    answer->port++;
}

static void test_every_difference_is_found(void **state)
{
    struct lab *lab = *state;
    static const struct {
        struct error error;
        const char *why;   /* of 10.96.0.10 */
        bool others_serve; /* the difference is a fault, and refutes nothing */
    } cases[] = {
        { { NAT_ORIGIN_POD, 0, 0, NULL, bend_act }, "from pod: pass instead of forward" },
        { { NAT_ORIGIN_NODE, 0, 0, NULL, bend_cause },
          "from node: reject (no-endpoints) instead of forward" },
        { { NAT_ORIGIN_OUTSIDE, 3, 0, NULL, bend_route },
          "from outside: slot 3: no way to 10.244.0.5:8080: an unreachable route",
          true },
        { { NAT_ORIGIN_OUTSIDE, 0, 0, NULL, bend_route },
          "from outside: slot 1: no way to 10.244.1.6:8080: an unreachable route" },
        { { NAT_ORIGIN_OUTSIDE, 1, 0, NULL, bend_no_route },
          "from outside: slot 1: no way to 10.244.1.6:8080: no route, or one to this node itself",
          true },
        { { NAT_ORIGIN_OUTSIDE, 2, 0, NULL, bend_no_route },
          "from outside: slot 2: no way to 10.244.1.5:8080: no route, or one to this node itself",
          true },
        { { NAT_ORIGIN_NODE, 0, 0, NULL, bend_masquerade }, "from node: not masqueraded" },
        { { NAT_ORIGIN_OUTSIDE, 2, 0, NULL, bend_masquerade }, "from outside: masqueraded" },
        { { NAT_ORIGIN_POD, 0, 0, NULL, bend_set },
          "from pod: 3 endpoints of the local set instead of 3 of the cluster" },
        { { NAT_ORIGIN_OUTSIDE, 2, 0, NULL, bend_count },
          "from outside: 2 endpoints of the cluster set instead of 3 of the cluster" },
        { { NAT_ORIGIN_OUTSIDE, 2, 0, NULL, bend_endpoint },
          "from outside: slot 2: 10.244.1.5:8081 is no endpoint of it" },
        { { NAT_ORIGIN_OUTSIDE, 2, 0, NULL, bend_to_first },
          "from outside: slot 2: 10.244.1.6:8080 a second time" },
        { { NAT_ORIGIN_POD, 0, 0, NULL, bend_port }, "from pod: answered as port 0/unknown" },
        { { NAT_ORIGIN_OUTSIDE, 0, -ENODEV, NULL, NULL },
          "from outside: the twin cannot be run: No such device" },
        { { NAT_ORIGINS, 0, 0, "other", NULL }, "from outside: answered as default/other" },
    };

    /* A set of its own, so that each of its slots is asked for this frontend. */
    lab->row->families[0].frontends.items[0].from[NAT_ORIGIN_POD].set = NAT_SET_LOCAL;
    lab->row->families[0].frontends.items[0].from[NAT_ORIGIN_NODE].set = NAT_SET_LOCAL;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFREE char *why = text_format("10.96.0.10:80/TCP %s", cases[i].why);
        const char *lost = strstr(cases[i].why, "no way to");
        AUTOFREE char *message =
            lost ? strdup(lost) : text_format("10.96.0.10:80/TCP: %s", cases[i].why);
        lab->datapath.error = cases[i].error;
        assert_int_equal(prove(lab), 0);
        expect_proof(lab, 1, "10.96.0.10", cases[i].others_serve ? "" : why);
        assert_told(lab, message);
    }
}

static void test_memory_is_no_verdict(void **state)
{
    struct lab *lab = *state;

    lab->datapath.error = (struct error){ NAT_ORIGIN_POD, 0, -ENOMEM, NULL, NULL };
    assert_int_equal(prove(lab), -ENOMEM);
}

/* The pod by whose interface its probes come may end at any moment. */
static void test_a_pod_that_ends_is_no_verdict(void **state)
{
    struct lab *lab = *state;

    lab->datapath.error = (struct error){ NAT_ORIGIN_POD, 0, -ENODEV, NULL, NULL };
    assert_int_equal(prove(lab), 0);
    assert_true(faults_none(&lab->faults));
}

/* A set that failed for one frontend is no better for the next. */
static void test_a_bad_slot_is_bad_for_all(void **state)
{
    struct lab *lab = *state;
    struct nat_frontend *frontends = lab->row->families[0].frontends.items;

    frontends[0].from[NAT_ORIGIN_OUTSIDE].set = NAT_SET_CLUSTER;
    lab->datapath.error = (struct error){ NAT_ORIGIN_OUTSIDE, 3, 0, NULL, bend_endpoint };
    assert_int_equal(prove(lab), 0);
    assert_false(lab->proofs.items[0].served);
    assert_false(lab->proofs.items[1].served);
    assert_int_equal(lab->faults.list.count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(lab->faults.list.items[i].type->code, "nat-proof-failed");
}

static void test_a_sender_may_be_the_endpoint(void **state)
{
    struct lab *lab = *state;

    lab->origins.of[NAT_ORIGIN_POD].v4 = ip("10.244.1.6");
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    lab->datapath.error = (struct error){ NAT_ORIGIN_POD, 1, 0, NULL, bend_masquerade };
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "10.0.0.1:80/TCP from pod: not masqueraded");
}

static void test_only_what_is_there_is_asked(void **state)
{
    struct lab *lab = *state;

    lab->origins.of[NAT_ORIGIN_OUTSIDE].there = false;
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    lab->origins.of[NAT_ORIGIN_POD].v4 = (struct ip){ 0 };
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "nothing from outside or a pod is forwarded here");
    assert_int_equal(lab->datapath.runs, 3 + 2);
}

static void test_each_protocol_is_proved(void **state)
{
    struct lab *lab = *state;

    add_frontend(lab->row, "10.96.0.10", 5060, NAT_FRONTEND_CLUSTER_IP, NAT_SET_CLUSTER);
    struct nat_frontend *frontends = lab->row->families[0].frontends.items;
    frontends[3].protocol = PROTOCOL_SCTP;
    struct nat_frontend node_port = frontends[2];
    frontends[2] = frontends[3];
    frontends[3] = node_port;
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    expect_proof(lab, 1, "10.96.0.10", "");
    assert_true(faults_none(&lab->faults));
}

static void test_a_node_port_that_fails_is_a_fault_only(void **state)
{
    struct lab *lab = *state;

    lab->row->families[0].frontends.items[2].protocol = PROTOCOL_SCTP;
    lab->datapath.error.origin = NAT_ORIGIN_OUTSIDE;
    lab->datapath.error.bend = bend_act;
    lab->datapath.errs_in = PROTOCOL_SCTP;
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    expect_proof(lab, 1, "10.96.0.10", "");
    expect_fault(lab, 0, "192.0.2.1:30080/SCTP: from outside: pass instead of forward");
}

static void add_range(struct lab *lab, const char *range)
{
    assert_int_equal(vec_push(&lab->row->families[0].source_ranges, prefix(range)), 0);
}

/* Nobody's stands in the range: each is dropped, then one of his kind from inside is asked. */
static void test_source_ranges(void **state)
{
    struct lab *lab = *state;

    add_range(lab, "10.244.7.0/24");
    add_range(lab, "203.0.113.0/24");
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    assert_true(faults_none(&lab->faults));
    assert_int_equal(lab->datapath.runs, 3 * 3 + 2 + 3);

    /* The twin lets nobody in whom it should: only those inside the range can tell. */
    lab->datapath.error = (struct error){ NAT_ORIGIN_POD, 1, 0, NULL, bend_cause };
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1",
                 "10.0.0.1:80/TCP from pod: reject (no-endpoints) instead of forward");

    /* The twin does not look at the ranges. */
    lab->datapath.error = (struct error){ NAT_ORIGIN_OUTSIDE, 0, 0, NULL, bend_act };
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1",
                 "10.0.0.1:80/TCP from outside: pass instead of drop (source-range)");
}

static void test_source_ranges_without_a_stranger(void **state)
{
    struct lab *lab = *state;

    add_range(lab, "10.244.0.0/24");
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    /* LB: two dropped, the pod admitted; then as ever. */
    assert_int_equal(lab->datapath.runs, 3 + 2 + 3 + 3);

    /* An ingress address that is let in (the node may have it) is a stranger's. */
    add_range(lab, "10.0.0.1/32");
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    assert_int_equal(lab->datapath.runs, 3 + 2 + 2 + 3 + 3);
}

/* A range that begins with pods has strangers behind them. */
static void test_a_stranger_behind_the_pods(void **state)
{
    struct lab *lab = *state;

    add_range(lab, "10.244.0.0/15");
    lab->datapath.pod_nets[0] = prefix("10.244.0.0/24");
    lab->datapath.pod_nets[1] = prefix("10.244.1.0/24");
    lab->row->families[0].frontends.count = 1;
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    assert_int_equal(lab->datapath.runs, 2 + 1 + 2 + 2);

    lab->datapath.pod_nets[0] = prefix("10.244.0.0/15"); /* 10.246.0.0 is outside of the range */
    assert_int_equal(prove(lab), 0);
    assert_int_equal(lab->datapath.runs, 1 + 1 + 2 + 1);
    lab->datapath.pod_nets[0] = prefix("0.0.0.0/0"); /* there is nothing behind it */
    lab->datapath.pod_nets[1] = prefix("255.0.0.0/8");
    lab->origins.of[NAT_ORIGIN_OUTSIDE].there = lab->origins.of[NAT_ORIGIN_NODE].there = false;
    assert_int_equal(prove(lab), 0);
    assert_int_equal(lab->datapath.runs, 1 + 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_planned_is_served),
        TEST(test_refusals_are_proved_too),
        TEST(test_every_difference_is_found),
        TEST(test_memory_is_no_verdict),
        TEST(test_a_pod_that_ends_is_no_verdict),
        TEST(test_a_bad_slot_is_bad_for_all),
        TEST(test_a_sender_may_be_the_endpoint),
        TEST(test_only_what_is_there_is_asked),
        TEST(test_each_protocol_is_proved),
        TEST(test_a_node_port_that_fails_is_a_fault_only),
        TEST(test_source_ranges),
        TEST(test_source_ranges_without_a_stranger),
        TEST(test_a_stranger_behind_the_pods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
