// SPDX-License-Identifier: Apache-2.0
/* What holds for all Services, in live maps; and answers that are read from them. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>

#include "nat_datapath_lab.h"
#include "raised.h"

static struct prefix prefix(const char *text)
{
    struct prefix prefix;
    assert_int_equal(prefix_parse(text, &prefix), 0);
    return prefix;
}

/* As the program asks it. */
static bool in_nets(const struct nat_net *nets, uint32_t count, const char *address)
{
    struct ip it = ip(address);
    struct nat_addr addr = nat_addr_of(&it);
    for (uint32_t i = 0; i < count; i++) {
        if ((addr.halves[0] & nets[i].mask.halves[0]) == nets[i].net.halves[0] &&
            (addr.halves[1] & nets[i].mask.halves[1]) == nets[i].net.halves[1])
            return true;
    }
    return false;
}

static void settings(void **state)
{
    (void)state;
    AUTOFAULTS struct faults faults = { 0 };
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    const struct nat_control *control = datapath->control;
    struct prefix pods[] = { prefix("10.0.0.0/9"), prefix("2001:db8:1::/48"),
                             prefix("192.0.2.1/32") };
    struct prefix services[] = { prefix("10.96.0.0/12") };
    struct nat_settings settings = { pods, services, 3, 1, 32768, 60999 };
    assert_int_equal(nat_datapath_set(datapath, &settings, &faults), 0);
    assert_true(in_nets(control->pod_nets, control->pod_net_count, "10.127.255.255"));
    assert_false(in_nets(control->pod_nets, control->pod_net_count, "10.128.0.0"));
    assert_true(in_nets(control->pod_nets, control->pod_net_count, "2001:db8:1:ffff::"));
    assert_false(in_nets(control->pod_nets, control->pod_net_count, "2001:db8:2::"));
    assert_true(in_nets(control->pod_nets, control->pod_net_count, "192.0.2.1"));
    assert_false(in_nets(control->pod_nets, control->pod_net_count, "192.0.2.0"));
    assert_true(in_nets(control->service_nets, control->service_net_count, "10.111.0.1"));
    assert_int_equal(control->snat_first, 32768);
    assert_int_equal(control->snat_count, 60999 - 32768 + 1);

    settings.pod_net_count = 1;
    settings.snat_first = settings.snat_last = 65535;
    assert_int_equal(nat_datapath_set(datapath, &settings, &faults), 0);
    assert_int_equal(control->pod_net_count, 1);
    assert_false(in_nets(control->pod_nets, control->pod_net_count, "192.0.2.1"));
    assert_int_equal(control->snat_first, 65535);
    assert_int_equal(control->snat_count, 1);
    assert_true(faults_none(&faults));

    struct prefix many[NAT_MAX_POD_NETS + 1];
    for (size_t i = 0; i < ARRAY_SIZE(many); i++)
        many[i] = prefix("10.0.0.0/9");
    settings.pod_nets = many;
    settings.pod_net_count = ARRAY_SIZE(many);
    assert_int_equal(nat_datapath_set(datapath, &settings, &faults), 0);
    assert_int_equal(control->pod_net_count, NAT_MAX_POD_NETS);
    (void)raised(&faults, "nat-networks-beyond-room");
    assert_int_equal(faults.list.count, 1);
    settings.snat_last = 1;
    assert_int_equal(nat_datapath_set(datapath, &settings, &faults), -EINVAL);
}

static void interfaces(void **state)
{
    (void)state;
    static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 }, none[6];
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    assert_int_equal(nat_datapath_set_svc0(datapath, 7, mac), 0);
    assert_int_equal(datapath->control->svc0_ifindex, 7);
    assert_memory_equal(datapath->control->svc0_mac, mac, 6);
    assert_int_equal(nat_datapath_set_svc0(datapath, 0, none), 0);
    assert_int_equal(datapath->control->svc0_ifindex, 0);
    assert_memory_equal(datapath->control->svc0_mac, none, 6);

    struct ip v4 = ip("192.0.2.1"), v6 = { 0 };
    uint32_t ifindex = 9;
    struct nat_interface_value value;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(nat_datapath_set_interface(datapath, ifindex, &v4, &v6, 9), 0);
        assert_int_equal(nat_table_get(datapath, NAT_MAP_INTERFACES, &ifindex, &value), 0);
        struct ip is4 = nat_addr_ip(&value.v4), is6 = nat_addr_ip(&value.v6);
        assert_true(ip_equal(&is4, &v4));
        assert_true(ip_equal(&is6, &v6));
        assert_int_equal(value.check, ifindex);
        assert_int_equal(value.back, 9);
        v6 = ip("2001:db8::1");
    }
    assert_int_equal(nat_datapath_remove_interface(datapath, ifindex), 0);
    assert_int_equal(nat_datapath_remove_interface(datapath, ifindex), 0);
    assert_int_equal(nat_table_get(datapath, NAT_MAP_INTERFACES, &ifindex, &value), -ENOENT);
}

static void say(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#define V4 "/proc/sys/net/ipv4/icmp_"
#define V6 "/proc/sys/net/ipv6/icmp/"

/* The kernel's limits, in a network namespace of this test's own. */
static void limits(void **state)
{
    (void)state;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    const uint32_t *limits = datapath->control->icmp_interval_ms;
    assert_int_equal(unshare(CLONE_NEWNET), 0);
    assert_int_equal(nat_datapath_read_limits(datapath), 0);
    assert_int_equal(limits[0], 1000); /* the kernel's defaults */
    assert_true(limits[1] == 1000 || limits[1] == 100);
    say(V4 "ratelimit", "2000");
    say(V6 "ratelimit", "3000");
    assert_int_equal(nat_datapath_read_limits(datapath), 0);
    assert_int_equal(limits[0], 2000);
    assert_int_equal(limits[1], 3000);
    say(V4 "ratemask", "6160"); /* the default without bit 3 */
    say(V6 "ratemask", "0,2-127");
    assert_int_equal(nat_datapath_read_limits(datapath), 0);
    assert_int_equal(limits[0], 0);
    assert_int_equal(limits[1], 0);
    say(V4 "ratemask", "8");
    say(V6 "ratemask", "1,128");
    assert_int_equal(nat_datapath_read_limits(datapath), 0);
    assert_int_equal(limits[0], 2000);
    assert_int_equal(limits[1], 3000);
}

static void expect_set(struct nat_datapath *datapath, uint32_t service, uint32_t port,
                       enum nat_set_kind set, const char *wanted)
{
    nat_endpoint_list list = { 0 };
    AUTOTEXT struct text text = { 0 };
    assert_int_equal(nat_datapath_set_endpoints(datapath, service, port, set, &list), 0);
    vec_each(const struct nat_endpoint, it, &list) {
        char address[IP_STRLEN];
        text_addf(&text, "%s-%u ", ip_str(&it->ip, address), it->port);
    }
    vec_done(&list);
    assert_string_equal(text_str(&text), wanted);
}

static void names_and_sets(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_simple("web", "fd96::1", ENDPOINTS("fd00::1", "fd00::2"));
    row_endpoint(&row->families[0], 0, "fd00::3", 8080, 2);
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    expect_write(datapath, row, 1);
    const struct nat_installed *installed = nat_installed_find(datapath, "d/web");
    uint32_t service = installed->id, port = installed->ports.items[0].id;
    char name[NAT_NAME_MAX];
    assert_int_equal(nat_datapath_name(datapath, service, name), 0);
    assert_string_equal(name, "d/web");
    assert_int_equal(nat_datapath_name(datapath, service + 1, name), 0);
    assert_string_equal(name, "");

    uint8_t family;
    enum protocol protocol;
    uint16_t number;
    assert_true(nat_datapath_port(datapath, port, &family, &protocol, &number));
    assert_int_equal(family, IP_V6);
    assert_int_equal(protocol, PROTOCOL_TCP);
    assert_int_equal(number, 80);
    assert_false(nat_datapath_port(datapath, 0, &family, &protocol, &number));
    assert_false(nat_datapath_port(datapath, port + 1, &family, &protocol, &number));
    assert_false(nat_datapath_port(datapath, UINT32_MAX, &family, &protocol, &number));

    expect_set(datapath, service, port, NAT_SET_CLUSTER, "fd00::1-8080 fd00::2-8080 ");
    expect_set(datapath, service, port, NAT_SET_LOCAL, "fd00::3-8080 ");
    expect_set(datapath, service + 1, port, NAT_SET_LOCAL, "");
    expect_set(datapath, service, UINT32_MAX, NAT_SET_LOCAL, "");
    expect_set(datapath, UINT32_MAX, port, NAT_SET_LOCAL, "");
    assert_int_equal(nat_datapath_remove(datapath, "d", "web"), 1);
    expect_set(datapath, service, port, NAT_SET_CLUSTER, "");
    assert_false(nat_datapath_port(datapath, port, &family, &protocol, &number));
}

static void put_refusal(struct nat_datapath *datapath, uint32_t service, enum nat_cause cause)
{
    struct ip source = ip("10.0.0.1"), destination = ip("10.96.0.1");
    struct nat_refusal_key key = { service, cause };
    struct nat_refusal_value value = {
        .count = 3,
        .last_ns = 5000000000,
        .last = { .src = nat_addr_of(&source),
                  .dst = nat_addr_of(&destination),
                  .sport = htons(1),
                  .dport = htons(80),
                  .protocol = PROTOCOL_UDP },
        .ifindex = 4,
    };
    assert_int_equal(nat_table_put(datapath, NAT_MAP_REFUSALS, &key, &value, BPF_ANY), 0);
}

static size_t count_refusals(struct nat_datapath *datapath)
{
    nat_refusal_list list = { 0 };
    assert_int_equal(nat_datapath_refusals(datapath, &list), 0);
    size_t count = list.count;
    vec_done(&list);
    return count;
}

static void counters_and_refusals(void **state)
{
    (void)state;
    AUTOROW struct nat_row *row = row_simple("web", "10.96.0.1", ENDPOINTS("10.0.0.1"));
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    struct nat_counter counter;
    assert_false(nat_datapath_counters(datapath, "d", "web", &counter));
    expect_write(datapath, row, 1);
    uint32_t service = nat_installed_find(datapath, "d/web")->id;
    for (uint32_t i = 0; i < NAT_COUNTER_STRIPES; i++)
        datapath->counters[service * NAT_COUNTER_STRIPES + i] =
            (struct nat_counter){ 1, 10, 100, i };
    assert_true(nat_datapath_counters(datapath, "d", "web", &counter));
    assert_int_equal(counter.packets, 8);
    assert_int_equal(counter.bytes, 80);
    assert_int_equal(counter.flows, 800);
    assert_int_equal(counter.refused, 28);

    put_refusal(datapath, service, NAT_CAUSE_NO_ENDPOINTS);
    put_refusal(datapath, 0, NAT_CAUSE_UNALLOCATED);
    put_refusal(datapath, service, NAT_CAUSE_COUNT); /* of a later layout */
    nat_refusal_list list = { 0 };
    assert_int_equal(nat_datapath_refusals(datapath, &list), 0);
    assert_int_equal(list.count, 2);
    const struct nat_refusal *refusal = &list.items[list.items[0].service ? 0 : 1];
    struct ip source = ip("10.0.0.1"), destination = ip("10.96.0.1");
    assert_int_equal(refusal->service, service);
    assert_int_equal(refusal->cause, NAT_CAUSE_NO_ENDPOINTS);
    assert_int_equal(refusal->count, 3);
    assert_int_equal(refusal->last.mono_ms, 5000);
    assert_true(ip_equal(&refusal->last.source, &source));
    assert_true(ip_equal(&refusal->last.destination, &destination));
    assert_int_equal(refusal->last.source_port, 1);
    assert_int_equal(refusal->last.destination_port, 80);
    assert_int_equal(refusal->last.protocol, PROTOCOL_UDP);
    assert_int_equal(refusal->last.ifindex, 4);
    vec_done(&list);

    /* The next owner of the id begins from nothing. */
    assert_int_equal(nat_datapath_remove(datapath, "d", "web"), 1);
    assert_int_equal(count_refusals(datapath), 1);
    put_refusal(datapath, service, NAT_CAUSE_NO_ENDPOINTS);
    datapath_adopt(datapath);
    assert_int_equal(count_refusals(datapath), 1);
    datapath_wake(datapath);
    expect_write(datapath, row, 1);
    assert_int_equal(nat_installed_find(datapath, "d/web")->id, service);
    assert_true(nat_datapath_counters(datapath, "d", "web", &counter));
    assert_int_equal(counter.flows, 0);
}

/* Neighbours must not look alike: a /24 has a node, its services and its pods. */
static void neighbours_in_the_filter(void **state)
{
    (void)state;
    enum { WORDS = 131072, HOSTS = 256 };
    static const struct {
        const char *network;
        int at; /* the byte that differs */
    } cases[] = { { "192.0.2.0", 15 }, { "192.0.0.1", 14 }, { "10.0.0.1", 13 },
                  { "fd00::", 15 },    { "fd00::1", 7 },    { "fd00:1:2:3::1", 9 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ip base = ip(cases[i].network);
        uint64_t hashes[HOSTS];
        int alike = 0;
        for (int host = 0; host < HOSTS; host++) {
            struct nat_addr addr = nat_addr_of(&base);
            addr.bytes[cases[i].at] = (uint8_t)host;
            hashes[host] = nat_filter_hash(&addr, htons(i % 2 ? 8080 : 0));
            for (int other = 0; other < host; other++)
                alike +=
                    nat_filter_word(hashes[host], WORDS) == nat_filter_word(hashes[other], WORDS);
        }
        assert_in_range(alike, 0, 4); /* 0.25 are to be expected by chance */
    }
}

static void sizes(void **state)
{
    (void)state;
    static const struct nat_datapath_options options = { NULL, 8192, 100, 1000 };
    AUTOROW struct nat_row *row = row_simple("web", "10.96.0.1", ENDPOINTS("10.0.0.1", "10.0.0.2"));
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&options, false);
    struct nat_map_use use[NAT_MAP_COUNT];
    expect_write(datapath, row, 1);
    assert_int_equal(nat_datapath_maps(datapath, use), NAT_MAP_COUNT);
    static const struct {
        enum nat_map_index map;
        uint64_t entries, capacity;
    } wanted[] = {
        { NAT_MAP_FRONTENDS, 2, 400 }, { NAT_MAP_SERVICES, 1, 100 },   { NAT_MAP_PORTS, 2, 400 },
        { NAT_MAP_SLOTS, 2, 4000 },    { NAT_MAP_ENDPOINTS, 2, 1000 }, { NAT_MAP_FLOWS, 0, 16384 },
        { NAT_MAP_RING, 0, 8192 },     { NAT_MAP_AFFINITY, 0, 2048 },  { NAT_MAP_NAMES, 1, 100 },
        { NAT_MAP_COUNTERS, 8, 800 },  { NAT_MAP_FILTER, 3, 512 },     { NAT_MAP_CAME, 0, 8192 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        const struct nat_map_use *it = &use[wanted[i].map];
        assert_string_equal(it->name, nat_map_name(wanted[i].map));
        assert_int_equal(it->entries, wanted[i].entries);
        assert_int_equal(it->capacity, wanted[i].capacity);
    }
    assert_in_range(use[NAT_MAP_COUNTERS].bytes, 101 * 256, 1 << 20);
}

static void send_one(struct nat_datapath *datapath, enum nat_hook hook, bool bare)
{
    uint8_t frame[64] = { 0 };
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = sizeof(frame));
    assert_int_equal(bpf_prog_test_run_opts(nat_datapath_program(datapath, hook, bare), &options),
                     0);
}

/* What the hooks of both loads have seen; what the twin is asked is no packet. */
static void seen(void **state)
{
    (void)state;
    AUTOPLANE struct nat_datapath *datapath = datapath_open(&lab_roomy, false);
    const struct nat_probe probe = {
        .hook = NAT_HOOK_UPLINK_IN,
        .ifindex = 1,
        .source = ip("192.0.2.1"),
        .destination = ip("192.0.2.2"),
        .protocol = PROTOCOL_TCP,
    };
    struct nat_answer answer;
    uint64_t packets[NAT_HOOKS] = { 99, 99, 99, 99, 99, 99 };
    assert_int_equal(nat_datapath_probe(datapath, &probe, &answer), 0);
    send_one(datapath, NAT_HOOK_UPLINK_OUT, false);
    send_one(datapath, NAT_HOOK_UPLINK_OUT, false);
    send_one(datapath, NAT_HOOK_SVC_OUT, false);
    assert_int_equal(nat_datapath_seen(datapath, packets), 0);
    const uint64_t first[NAT_HOOKS] = { [NAT_HOOK_UPLINK_OUT] = 2, [NAT_HOOK_SVC_OUT] = 1 };
    assert_memory_equal(packets, first, sizeof(first));
    send_one(datapath, NAT_HOOK_UPLINK_OUT, true);
    send_one(datapath, NAT_HOOK_POD_IN, true);
    assert_int_equal(nat_datapath_seen(datapath, packets), 0);
    const uint64_t then[NAT_HOOKS] = {
        [NAT_HOOK_UPLINK_OUT] = 3, [NAT_HOOK_POD_IN] = 1, [NAT_HOOK_SVC_OUT] = 1
    };
    assert_memory_equal(packets, then, sizeof(then));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings),
        cmocka_unit_test(interfaces),
        cmocka_unit_test(seen),
        cmocka_unit_test(names_and_sets),
        cmocka_unit_test(counters_and_refusals),
        cmocka_unit_test(neighbours_in_the_filter),
        cmocka_unit_test(sizes),
        cmocka_unit_test(limits), /* leaves the network namespace */
    };
    return cmocka_run_group_tests(tests, lab_begin, lab_end);
}
