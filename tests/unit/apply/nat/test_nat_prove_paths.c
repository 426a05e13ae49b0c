// SPDX-License-Identifier: Apache-2.0
/* The proof of the ways to endpoints and back, by a twin that is made to err: programs, children,
 * VRFs. */
#include <errno.h>

#include "nat_proof_lab.h"

/* Replies to what is masqueraded, and to the node itself, come back where the packet leaves. */
static void test_the_way_back_has_our_program(void **state)
{
    struct lab *lab = *state;
    static const char why[] = "from node: 10.244.1.5:8080 is reached by an interface that is gone, "
                              "where our program is not";
    AUTOFREE char *told = text_format("10.96.0.10:80/TCP %s", why);
    AUTOFREE char *fault = text_format("10.96.0.10:80/TCP: %s", why);

    lab->datapath.address = 2;
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 1, "10.96.0.10", told);
    expect_fault(lab, 1, fault);
    assert_string_equal(lab->faults.list.items[1].remedy,
                        "name it in services.uplinks, or in podInterfaces if it is a pod's");
}

/* What a parent sends never reaches its children; of other nodes' pods it says nothing. */
static void test_no_way_leads_to_a_child(void **state)
{
    struct lab *lab = *state;
    static const struct {
        enum nat_children children;
        const char *kind, *remedy;
    } cases[] = {
        { NAT_CHILDREN_MACVLAN, "a macvlan",
          "give this node a macvlan child of that interface, too, with routes to such pods" },
        { NAT_CHILDREN_IPVLAN, "an ipvlan",
          "give this node an ipvlan child of that interface, too, with routes to such pods" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        static const char told[] =
            "10.0.0.1:80/TCP: from outside: 10.244.0.5:8080 is on this node, but ";
        children.of_uplink = cases[i].children;
        children.asked = 0;
        assert_int_equal(prove(lab), 0);
        assert_false(lab->proofs.items[0].served);
        assert_false(lab->proofs.items[1].served);
        const struct fault *fault = &lab->faults.list.items[0];
        assert_true(strncmp(fault->message, told, strlen(told)) == 0);
        assert_non_null(strstr(fault->message, cases[i].kind));
        assert_string_equal(fault->remedy, cases[i].remedy);
        assert_int_equal(children.asked, 1);
    }
    lab->row->families[0].ports.items[0].sets[NAT_SET_LOCAL].items[0].ip = ip("10.244.0.6");
    lab->row->families[0].frontends.items[0].from[NAT_ORIGIN_OUTSIDE].set = NAT_SET_CLUSTER;
    lab->row->families[0].frontends.items[2].from[NAT_ORIGIN_OUTSIDE].set = NAT_SET_CLUSTER;
    children.asked = 0;
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    assert_int_equal(children.asked, 0);
}

/* The kernel routes to the interface of a pod whose own end is down. */
static void test_no_way_leads_to_a_pod_whose_end_is_down(void **state)
{
    static const char told[] = "no way to 10.244.0.5:8080: ";
    struct lab *lab = *state;
    struct link end = { .ifindex = UPLINK, .name = "veth5", .up = true };
    struct sorted links = SORTED(struct link, link_cmp);
    assert_int_equal(sorted_put(&links, &end), 0);
    lab->origins.links = &links;
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");

    end.unplugged = true;
    assert_int_equal(sorted_put(&links, &end), 0);
    assert_int_equal(prove(lab), 0);
    assert_false(lab->proofs.items[0].served);
    const struct fault *fault = &lab->faults.list.items[0];
    assert_non_null(strstr(fault->message, told));
    assert_non_null(strstr(fault->message, ": veth5 has no carrier"));
    assert_non_null(strstr(fault->remedy, "its own end of that interface is up"));

    /* Of another node's pods the uplink's carrier is told, and once. */
    lab->row->families[0].ports.items[0].sets[NAT_SET_LOCAL].items[0].ip = ip("10.244.0.6");
    lab->row->families[0].frontends.items[0].from[NAT_ORIGIN_OUTSIDE].set = NAT_SET_CLUSTER;
    lab->row->families[0].frontends.items[2].from[NAT_ORIGIN_OUTSIDE].set = NAT_SET_CLUSTER;
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    sorted_done(&links);
}

/* What keeps its source is answered to the client, and translated there. */
static void test_the_way_there_needs_no_program(void **state)
{
    struct lab *lab = *state;
    struct nat_frontend *frontends = lab->row->families[0].frontends.items;

    lab->datapath.address = 2;
    for (size_t i = 0; i < 3; i++)
        frontends[i].from[NAT_ORIGIN_NODE] =
            (struct nat_outcome){ NAT_ACT_DROP, NAT_CAUSE_NO_LOCAL, NAT_SET_LOCAL, false };
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    expect_proof(lab, 1, "10.96.0.10", "");
    assert_true(faults_none(&lab->faults));

    frontends[1].from[NAT_ORIGIN_OUTSIDE].masquerade = true;
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 0, "10.0.0.1", "");
    expect_proof(lab, 1, "10.96.0.10",
                 "10.96.0.10:80/TCP from outside: 10.244.1.5:8080 is reached by an interface that "
                 "is gone, where our program is not");
}

/* Its routes are others, so what the first uplink has told of an endpoint does not count there. */
static void test_each_vrf_is_asked(void **state)
{
    struct lab *lab = *state;

    lab->datapath.vrf = lab->origins.vrf_uplinks[0] = 0x7ffffff0;
    assert_int_equal(prove(lab), 0);
    const unsigned before = lab->datapath.runs;
    expect_proof(lab, 1, "10.96.0.10", "");
    lab->origins.vrf_uplink_count = 1;
    assert_int_equal(prove(lab), 0);
    expect_proof(lab, 1, "10.96.0.10", ""); /* other endpoints serve */
    assert_true(lab->datapath.runs > before);
    assert_told(lab, "no way to 10.244.1.5:8080: an unreachable route");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_way_back_has_our_program),
        TEST(test_the_way_there_needs_no_program),
        TEST(test_no_way_leads_to_a_pod_whose_end_is_down),
        TEST(test_no_way_leads_to_a_child),
        TEST(test_each_vrf_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
