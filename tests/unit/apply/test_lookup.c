// SPDX-License-Identifier: Apache-2.0
/* The kernel's route lookup, as it answers for addresses of its own, routes and refusals. */
#include <errno.h>
#include <net/if.h>

#include "apply/lookup.h"
#include "netns.h"

static int make_links(void **state)
{
    if (lab_open(state) < 0)
        return -1;
    return system("ip link add veth0 type veth peer name veth1 && "
                  "ip link set veth0 up && ip link set veth1 up && "
                  "ip addr add 10.0.0.1/24 dev veth0 && "
                  "ip addr add fd00::1/64 dev veth0 nodad && "
                  "ip route add 10.1.0.0/24 via 10.0.0.2 && "
                  "ip route add unreachable 10.2.0.0/24 && ip route add prohibit 10.3.0.0/24 && "
                  "ip route add blackhole 10.4.0.0/24 && "
                  "ip route add 192.0.2.0/24 dev veth1 && "
                  "ip -6 route add unreachable fd02::/64 && ip -6 route add blackhole fd04::/64 && "
                  "echo 1 > /proc/sys/net/ipv4/ip_forward && "
                  /* IPv6 takes an address for its own once the link is seen to be up. */
                  "for i in $(seq 2000); do ip -6 route get fd00::1 | grep -q ^local && exit 0; "
                  "done; exit 1");
}

static struct ip ip(const char *text)
{
    struct ip ip = { 0 };
    if (*text)
        assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static void expect(struct lab *lab, const char *destination, const char *source, const char *in,
                   uint8_t type, const char *out)
{
    const struct route_query query = {
        .destination = ip(destination),
        .source = ip(source),
        .ifindex = *in ? if_nametoindex(in) : 0,
    };
    struct route_found found = { 0 };

    assert_int_equal(route_lookup(lab->other, &query, &found), 0);
    assert_int_equal(found.type, type);
    if (*out)
        assert_int_equal(found.ifindex, if_nametoindex(out));
}

static void test_answers(void **state)
{
    struct lab *lab = *state;

    expect(lab, "10.0.0.1", "", "", RTN_LOCAL, "lo");
    expect(lab, "127.0.0.9", "", "", RTN_LOCAL, "lo");
    expect(lab, "fd00::1", "", "", RTN_LOCAL, "lo");
    expect(lab, "10.0.0.7", "", "", RTN_UNICAST, "veth0");
    expect(lab, "10.1.0.7", "10.0.0.1", "", RTN_UNICAST, "veth0");
    expect(lab, "fd00::7", "fd00::1", "", RTN_UNICAST, "veth0");
    expect(lab, "10.9.0.7", "", "", RTN_UNREACHABLE, "");
    expect(lab, "fd09::7", "", "", RTN_UNREACHABLE, "");
    expect(lab, "10.2.0.7", "", "", RTN_UNREACHABLE, "");
    expect(lab, "fd02::7", "", "", RTN_UNREACHABLE, "");
    expect(lab, "10.3.0.7", "", "", RTN_PROHIBIT, "");
    expect(lab, "10.4.0.7", "", "", RTN_BLACKHOLE, "");
    expect(lab, "fd04::7", "", "", RTN_BLACKHOLE, "");
}

static void test_a_packet_that_comes_in(void **state)
{
    struct lab *lab = *state;

    expect(lab, "10.0.0.1", "192.0.2.9", "veth1", RTN_LOCAL, "lo");
    expect(lab, "10.1.0.7", "192.0.2.9", "veth1", RTN_UNICAST, "veth0");
    expect(lab, "10.2.0.7", "192.0.2.9", "veth1", RTN_UNREACHABLE, "");
    run("ip rule add pref 10 not from all iif lo lookup 120 && "
        "ip route add unreachable 10.1.0.8 table 120");
    expect(lab, "10.1.0.8", "192.0.2.9", "veth1", RTN_UNREACHABLE, "");
    expect(lab, "10.1.0.8", "", "", RTN_UNICAST, "veth0");
}

static void test_a_source_that_is_not_believed(void **state)
{
    struct lab *lab = *state;

    run("echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter");
    expect(lab, "10.1.0.7", "192.0.2.9", "veth1", RTN_UNICAST, "veth0");
    expect(lab, "10.1.0.7", "10.0.0.9", "veth1", RTN_BLACKHOLE, "");
}

static bool looks_up(struct lab *lab, uint8_t family, uint32_t table)
{
    bool found = false;
    assert_int_equal(rules_look_up(lab->other, family, table, &found), 0);
    return found;
}

static void test_tables_that_rules_look_up(void **state)
{
    struct lab *lab = *state;

    assert_true(looks_up(lab, IP_V4, RT_TABLE_MAIN));
    assert_false(looks_up(lab, IP_V4, 77));
    run("ip rule del pref 32766 && ip rule add pref 10 lookup 77");
    assert_false(looks_up(lab, IP_V4, RT_TABLE_MAIN));
    assert_true(looks_up(lab, IP_V4, 77));
    assert_true(looks_up(lab, IP_V6, RT_TABLE_MAIN));
}

static void test_no_such_interface(void **state)
{
    struct lab *lab = *state;
    const struct route_query query = { .destination = ip("10.1.0.7"), .ifindex = 999 };
    struct route_found found = { .type = 99 };

    assert_int_equal(route_lookup(lab->other, &query, &found), -ENODEV);
    assert_int_equal(found.type, 99);
    expect(lab, "10.0.0.1", "", "", RTN_LOCAL, "lo"); /* the socket is good for the next one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answers, make_links, lab_close),
        cmocka_unit_test_setup_teardown(test_a_packet_that_comes_in, make_links, lab_close),
        cmocka_unit_test_setup_teardown(test_a_source_that_is_not_believed, make_links, lab_close),
        cmocka_unit_test_setup_teardown(test_tables_that_rules_look_up, make_links, lab_close),
        cmocka_unit_test_setup_teardown(test_no_such_interface, make_links, lab_close),
    };
    if (lab_missing())
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
