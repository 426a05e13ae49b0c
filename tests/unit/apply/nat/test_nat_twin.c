// SPDX-License-Identifier: Apache-2.0
/*
 * The real twin on real maps in a network namespace: what it answers, and that the proof finds what
 * somebody breaks in the live maps or in the kernel's routes.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/hooks/programs.h"
#include "apply/nat/maps/addr.h"
#include "base/clock.h"
#include "nat_lab.h"

static struct nat_probe probe_from(const struct nat_lab *lab, enum nat_origin origin,
                                   const char *from, const char *to, uint16_t port)
{
    return (struct nat_probe){
        .hook = lab->origins.of[origin].hook,
        .ifindex = lab->origins.of[origin].ifindex,
        .ingress_ifindex = lab->origins.of[origin].ingress_ifindex,
        .source = lab_ip(from),
        .destination = lab_ip(to),
        .source_port = 5000,
        .destination_port = port,
        .protocol = PROTOCOL_TCP,
    };
}

static struct nat_answer ask(struct nat_lab *lab, struct nat_probe probe)
{
    struct nat_answer answer;
    assert_int_equal(nat_datapath_probe(lab->datapath, &probe, &answer), 0);
    return answer;
}

static void expect_refusal(struct nat_lab *lab, struct nat_probe probe, enum nat_act act,
                           enum nat_cause cause)
{
    struct nat_answer answer = ask(lab, probe);
    assert_int_equal(answer.act, act);
    assert_int_equal(answer.cause, cause);
    assert_int_equal(answer.endpoint_value.ip.family, IP_NONE);
}

static void test_answers(void **state)
{
    struct nat_lab *lab = *state;
    struct nat_answer answer =
        ask(lab, probe_from(lab, NAT_ORIGIN_OUTSIDE, "198.51.100.9", "10.96.0.10", 80));
    char name[NAT_NAME_MAX];

    assert_int_equal(answer.act, NAT_ACT_FORWARD);
    assert_int_equal(answer.cause, NAT_CAUSE_NONE);
    assert_int_equal(answer.masquerade, NAT_MASQUERADE_YES);
    assert_int_equal(answer.route, 0);
    assert_int_equal(answer.count, 3);
    assert_int_equal(answer.endpoint_value.port, 8080);
    assert_int_equal(nat_datapath_name(lab->datapath, answer.service, name), 0);
    assert_string_equal(name, "default/web");

    /* The pod is the endpoint itself, or another. */
    struct nat_probe probe = probe_from(lab, NAT_ORIGIN_POD, "10.244.0.5", "10.96.0.10", 80);
    unsigned hairpins = 0;
    for (probe.pick = 1; probe.pick <= 3; probe.pick++) {
        answer = ask(lab, probe);
        bool back = ip_equal(&answer.endpoint_value.ip, &probe.source);
        assert_int_equal(answer.masquerade, back ? NAT_MASQUERADE_HAIRPIN : NAT_MASQUERADE_NO);
        hairpins += back;
    }
    assert_int_equal(hairpins, 1);

    answer = ask(lab, probe_from(lab, NAT_ORIGIN_OUTSIDE, "2001:db8:9::9", "fd00::1", 80));
    const struct ip here = lab_ip("fd44::5");
    assert_int_equal(answer.set, NAT_SET_LOCAL);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.masquerade, NAT_MASQUERADE_NO);
    assert_true(ip_equal(&answer.endpoint_value.ip, &here));
}

/* Whatever is loaded is verified, which takes time at the start: exits have nothing to say. */
static void test_no_twin_of_exits(void **state)
{
    struct nat_lab *lab = *state;
    for (enum nat_hook hook = 0; hook < NAT_HOOKS; hook++) {
        const bool exit = hook == NAT_HOOK_UPLINK_OUT || hook == NAT_HOOK_POD_OUT;
        assert_true(nat_datapath_program(lab->datapath, hook, false) >= 0);
        assert_int_equal(nat_datapath_twin(lab->datapath, hook) < 0, exit);
    }
    struct nat_probe probe = probe_from(lab, NAT_ORIGIN_POD, "10.244.0.5", "10.96.0.10", 80);
    struct nat_answer answer;
    probe.hook = NAT_HOOK_POD_OUT;
    assert_true(nat_datapath_probe(lab->datapath, &probe, &answer) < 0);
}

static void test_refusals(void **state)
{
    struct nat_lab *lab = *state;

    expect_refusal(lab, probe_from(lab, NAT_ORIGIN_OUTSIDE, "198.51.100.9", "10.96.0.30", 81),
                   NAT_ACT_REJECT, NAT_CAUSE_NO_ENDPOINTS);
    expect_refusal(lab, probe_from(lab, NAT_ORIGIN_OUTSIDE, "198.51.100.9", "10.0.0.3", 80),
                   NAT_ACT_DROP, NAT_CAUSE_NO_LOCAL);
    expect_refusal(lab, probe_from(lab, NAT_ORIGIN_POD, "10.244.0.5", "10.0.0.4", 80), NAT_ACT_DROP,
                   NAT_CAUSE_SOURCE_RANGE);
    expect_refusal(lab, probe_from(lab, NAT_ORIGIN_NODE, "192.0.2.1", "10.96.0.10", 81),
                   NAT_ACT_REJECT, NAT_CAUSE_UNDEFINED_PORT);
    expect_refusal(lab, probe_from(lab, NAT_ORIGIN_NODE, "192.0.2.1", "10.96.0.77", 80),
                   NAT_ACT_DROP, NAT_CAUSE_UNALLOCATED);
    expect_refusal(lab, probe_from(lab, NAT_ORIGIN_NODE, "192.0.2.1", "10.0.0.1", 81),
                   NAT_ACT_REJECT, NAT_CAUSE_UNMAPPED_PORT);
    expect_refusal(lab, probe_from(lab, NAT_ORIGIN_OUTSIDE, "198.51.100.9", "10.0.0.1", 81),
                   NAT_ACT_PASS, NAT_CAUSE_NONE);
    expect_refusal(lab, probe_from(lab, NAT_ORIGIN_OUTSIDE, "198.51.100.9", "10.96.0.99", 80),
                   NAT_ACT_PASS, NAT_CAUSE_OTHER_PROXY);

    struct nat_probe probe = probe_from(lab, NAT_ORIGIN_OUTSIDE, "198.51.100.9", "10.0.0.1", 80);
    struct nat_answer answer;
    probe.ifindex = 999;
    assert_int_equal(nat_datapath_probe(lab->datapath, &probe, &answer), -ENODEV);
    probe.destination = lab_ip("fd00::1");
    assert_int_equal(nat_datapath_probe(lab->datapath, &probe, &answer), -EINVAL);
}

static void prove(struct nat_lab *lab, enum lab_row row, nat_proof_list *proofs,
                  struct faults *faults)
{
    vec_clear(proofs);
    faults_done(faults);
    *faults = (struct faults){ 0 };
    bool lost;
    assert_int_equal(nat_prove(lab->datapath, &lab->origins, lab->rows[row], proofs, faults, &lost),
                     0);
}

static void expect_all(struct nat_lab *lab, enum lab_row row, size_t count, bool served,
                       const char *why)
{
    nat_proof_list proofs = { 0 };
    AUTOFAULTS struct faults faults = { 0 };

    prove(lab, row, &proofs, &faults);
    assert_int_equal(proofs.count, count);
    assert_int_equal(faults_none(&faults), served);
    vec_each(const struct nat_proof, proof, &proofs) {
        if (!strstr(proof->why, why) || proof->served != served)
            print_message("# %s\n", proof->why);
        assert_int_equal(proof->served, served);
        assert_non_null(strstr(proof->why, why));
    }
    vec_done(&proofs);
}

static void test_proof(void **state)
{
    struct nat_lab *lab = *state;

    expect_all(lab, ROW_WEB, 4, true, "");
    expect_all(lab, ROW_ONE, 1, true, "");
    expect_all(lab, ROW_FENCED, 1, true, "");
    expect_all(lab, ROW_OTHER, 0, true, "");

    nat_proof_list proofs = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    prove(lab, ROW_AWAY, &proofs, &faults);
    assert_true(faults_none(&faults));
    assert_int_equal(proofs.count, 2);
    assert_true(proofs.items[0].served); /* by pods */
    assert_false(proofs.items[1].served);
    assert_true(proofs.items[1].as_planned);
    vec_done(&proofs);
}

static void test_a_missing_route_is_found(void **state)
{
    struct nat_lab *lab = *state;

    run("ip route add unreachable 10.244.1.6/32");
    nat_proof_list proofs = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    prove(lab, ROW_WEB, &proofs, &faults);
    assert_int_equal(proofs.count, 4);
    vec_each(const struct nat_proof, proof, &proofs)
        assert_true(proof->served); /* by the other endpoints */
    assert_int_equal(faults.list.count, 1);
    assert_non_null(strstr(faults.list.items[0].message, "no way to 10.244.1.6:8080"));
    assert_non_null(strstr(faults.list.items[0].message, "an unreachable route"));
    vec_done(&proofs);

    /* Where it is the only one, it is missed. */
    run("ip route replace unreachable 10.244.0.5");
    expect_all(lab, ROW_ONE, 1, false, "no way to 10.244.0.5:8080: an unreachable route");
    run("ip route replace 10.244.0.5 dev pod0");

    /* A neighbour that nobody has seen yet is no obstacle, a link that is down is. */
    run("ip route del unreachable 10.244.1.6/32 && ip neigh flush dev u0");
    expect_all(lab, ROW_WEB, 4, true, "");
    run("ip link set u0 down");
    AUTOFAULTS struct faults down = { 0 };
    prove(lab, ROW_WEB, &proofs, &down);
    assert_int_equal(down.list.count, 2); /* one of each family */
    vec_each(const struct fault, fault, &down.list)
        assert_non_null(strstr(fault->message, "no way to "));
    vec_done(&proofs);
}

/* Masqueraded packets are answered where they leave; what keeps its source is not. */
static void test_a_way_without_our_program_is_found(void **state)
{
    struct nat_lab *lab = *state;

    run("ip link add x0 type veth peer name x0p && ip link set x0 up && ip link set x0p up && "
        "ip route replace 10.244.0.5 dev x0");
    struct nat_probe probe = probe_from(lab, NAT_ORIGIN_POD, "10.244.0.200", "10.96.0.20", 53);
    probe.protocol = PROTOCOL_UDP;
    assert_int_equal(ask(lab, probe).out, if_nametoindex("x0"));
    expect_all(lab, ROW_ONE, 1, false,
               "10.244.0.5:8080 is reached by x0, where our program is not");
    run("ip route replace 10.244.0.5 dev pod0");
    assert_int_equal(ask(lab, probe).out, if_nametoindex("pod0"));
    expect_all(lab, ROW_ONE, 1, true, "");
}

/* What is led to svc0 is served there, if it is served at all. */
static void test_an_address_of_a_service_is_no_endpoint(void **state)
{
    struct nat_lab *lab = *state;

    run("ip route replace 10.244.0.5 dev svc0");
    expect_all(lab, ROW_ONE, 1, false,
               "endpoint 10.244.0.5:8080 is itself an address of a Service");
    run("ip route replace 10.244.0.5 dev pod0");
    expect_all(lab, ROW_ONE, 1, true, "");
}

/* A masqueraded flow needs an address of this node, of its family. */
static void test_a_missing_source_is_found(void **state)
{
    struct nat_lab *lab = *state;
    const struct ip none = { 0 }, v4 = lab_ip("192.0.2.1");

    assert_int_equal(nat_datapath_set_interface(lab->datapath, 0, &v4, &none, NAT_BACK_UNKNOWN), 0);
    expect_all(lab, ROW_ONE, 1, true, "");
    nat_proof_list proofs = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    prove(lab, ROW_WEB, &proofs, &faults);
    assert_true(proofs.items[0].served && proofs.items[1].served);
    assert_false(proofs.items[2].served || proofs.items[3].served);
    assert_non_null(strstr(proofs.items[3].why, "no address of this node to masquerade with"));
    vec_done(&proofs);
}

/* Somebody writes into the arrays: the ids are those of the twin's own answers. */
static void test_broken_slots_are_found(void **state)
{
    struct nat_lab *lab = *state;
    struct nat_datapath *datapath = lab->datapath;
    struct nat_probe probe = probe_from(lab, NAT_ORIGIN_OUTSIDE, "198.51.100.9", "10.96.0.20", 53);
    probe.protocol = PROTOCOL_UDP;
    struct nat_answer answer = ask(lab, probe);
    assert_int_equal(answer.act, NAT_ACT_FORWARD);
    const uint32_t bank = datapath->services[answer.service] & NAT_SERVICE_BANK;
    struct nat_port_value *port = &datapath->ports[answer.port * 2 + bank];
    const uint64_t good_set = port->sets[NAT_SET_CLUSTER], good_outcomes = port->outcomes;
    struct nat_endpoint_value *endpoint = &datapath->endpoints[answer.endpoint];
    const uint64_t good_state = endpoint->state;

    port->sets[NAT_SET_CLUSTER] = good_set + 1;
    expect_all(lab, ROW_ONE, 1, false, "2 endpoints of the cluster set instead of 1");
    port->sets[NAT_SET_CLUSTER] = good_set;
    port->outcomes ^= (uint64_t)NAT_OUTCOME_MASQ
                      << nat_outcome_shift(NAT_FRONTEND_CLUSTER_IP, NAT_ORIGIN_OUTSIDE);
    expect_all(lab, ROW_ONE, 1, false, "from outside: not masqueraded");
    port->outcomes =
        good_outcomes ^ 2ull << nat_outcome_shift(NAT_FRONTEND_CLUSTER_IP, NAT_ORIGIN_POD);
    expect_all(lab, ROW_ONE, 1, false, "from pod: drop (no-local-endpoints) instead of forward");
    port->outcomes = good_outcomes;
    endpoint->state = good_state + 1; /* another life: nobody is sent there */
    expect_all(lab, ROW_ONE, 1, false, "reject (no-endpoints) instead of forward");
    endpoint->state = good_state;
    endpoint->port = htons(5353);
    expect_all(lab, ROW_ONE, 1, false, "slot 1: 10.244.0.5:5353 is no endpoint of it");
    endpoint->port = htons(8080);
    expect_all(lab, ROW_ONE, 1, true, "");
}

static void test_a_lost_frontend_is_found(void **state)
{
    struct nat_lab *lab = *state;
    const struct ip address = lab_ip("10.0.0.4");
    struct nat_frontend_key key = { .addr = nat_addr_of(&address),
                                    .port = htons(80),
                                    .protocol = PROTOCOL_TCP };

    assert_int_equal(bpf_map_delete_elem(lab->datapath->maps[NAT_MAP_FRONTENDS].fd, &key), 0);
    expect_all(lab, ROW_FENCED, 1, false, "from outside: pass instead of drop (source-range)");
}

static void test_an_open_fence_is_found(void **state)
{
    struct nat_lab *lab = *state;
    struct nat_answer answer =
        ask(lab, probe_from(lab, NAT_ORIGIN_OUTSIDE, "203.0.113.9", "10.0.0.4", 80));

    assert_int_equal(answer.act, NAT_ACT_FORWARD);
    lab->datapath->services[answer.service] &= ~NAT_SERVICE_RANGES_V4;
    expect_all(lab, ROW_FENCED, 1, false, "from outside: forward instead of drop (source-range)");
    lab->datapath->services[answer.service] |= NAT_SERVICE_RANGES_V4;
    expect_all(lab, ROW_FENCED, 1, true, "");
}

/* As the program makes them: both halves, under each other's tuple reversed. */
static void test_a_flow_is_found(void **state)
{
    struct nat_lab *lab = *state;
    struct nat_probe probe = probe_from(lab, NAT_ORIGIN_OUTSIDE, "198.51.100.9", "10.0.0.1", 80);
    struct nat_answer answer = ask(lab, probe);
    const struct ip *endpoint = &answer.endpoint_value.ip;
    struct nat_tuple key = {
        .src = nat_addr_of(&probe.source),
        .dst = nat_addr_of(&probe.destination),
        .sport = htons(5000),
        .dport = htons(80),
        .protocol = PROTOCOL_TCP,
    };
    struct nat_flow flow = {
        .to = key,
        .service = answer.service,
        .port = answer.port,
        .endpoint = answer.endpoint,
        .generation = (uint32_t)lab->datapath->endpoints[answer.endpoint].state,
        .check = nat_tuple_check(&key),
        .half = NAT_HALF_FORWARD,
        .flags = NAT_FLOW_MASQ,
    };
    struct nat_found_flow found;

    flow.to.dst = nat_addr_of(endpoint);
    flow.to.dport = htons(8080);
    assert_false(nat_datapath_find_flow(lab->datapath, &probe, &found));
    const int table = lab->datapath->maps[NAT_MAP_FLOWS].fd;
    assert_int_equal(bpf_map_update_elem(table, &key, &flow, BPF_ANY), 0);
    assert_true(nat_datapath_find_flow(lab->datapath, &probe, &found));
    assert_int_equal(found.half, NAT_HALF_FORWARD);
    assert_int_equal(found.state, NAT_STATE_HALF_OPEN);
    assert_true(found.masqueraded && !found.stale);
    assert_true(ip_equal(&found.destination.ip, endpoint) && found.destination.port == 8080);
    assert_true(ip_equal(&found.source.ip, &probe.source) && found.source.port == 5000);

    flow.generation++;
    flow.flags |= NAT_FLOW_ANSWERED | NAT_FLOW_CONFIRMED;
    assert_int_equal(bpf_map_update_elem(table, &key, &flow, BPF_ANY), 0);
    assert_true(nat_datapath_find_flow(lab->datapath, &probe, &found));
    assert_int_equal(found.state, NAT_STATE_ESTABLISHED);
    assert_true(found.stale);

    /* The entry was given to another key while it was read. */
    flow.check++;
    assert_int_equal(bpf_map_update_elem(table, &key, &flow, BPF_ANY), 0);
    assert_false(nat_datapath_find_flow(lab->datapath, &probe, &found));
    flow.check--;
    assert_int_equal(bpf_map_update_elem(table, &key, &flow, BPF_ANY), 0);
    probe.protocol = PROTOCOL_UDP;
    assert_false(nat_datapath_find_flow(lab->datapath, &probe, &found));
}

/* The clock of the program may be a little ahead of the agent's. */
static void test_a_flow_of_the_next_second_is_not_idle(void **state)
{
    struct nat_lab *lab = *state;
    struct nat_probe probe = probe_from(lab, NAT_ORIGIN_OUTSIDE, "198.51.100.9", "10.0.0.1", 80);
    struct nat_tuple key = {
        .src = nat_addr_of(&probe.source),
        .dst = nat_addr_of(&probe.destination),
        .sport = htons(5000),
        .dport = htons(80),
        .protocol = PROTOCOL_TCP,
    };
    struct nat_flow flow = {
        .to = key,
        .seen_s = (uint32_t)(clock_mono_ms() / SECOND_MS) + 60,
        .check = nat_tuple_check(&key),
        .half = NAT_HALF_FORWARD,
    };
    struct nat_found_flow found;

    assert_int_equal(
        bpf_map_update_elem(lab->datapath->maps[NAT_MAP_FLOWS].fd, &key, &flow, BPF_ANY), 0);
    assert_true(nat_datapath_find_flow(lab->datapath, &probe, &found));
    assert_int_equal(found.idle_s, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, nat_lab_open, nat_lab_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_answers),
        TEST(test_no_twin_of_exits),
        TEST(test_refusals),
        TEST(test_proof),
        TEST(test_a_missing_route_is_found),
        TEST(test_a_way_without_our_program_is_found),
        TEST(test_an_address_of_a_service_is_no_endpoint),
        TEST(test_a_missing_source_is_found),
        TEST(test_broken_slots_are_found),
        TEST(test_a_lost_frontend_is_found),
        TEST(test_an_open_fence_is_found),
        TEST(test_a_flow_is_found),
        TEST(test_a_flow_of_the_next_second_is_not_idle),
    };
    if (nat_lab_missing())
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
