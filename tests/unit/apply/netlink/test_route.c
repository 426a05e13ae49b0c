// SPDX-License-Identifier: Apache-2.0
/* Routes of a link, and the numbers of namespaces, by typed requests. */
#include <errno.h>
#include <net/if.h>

#include "apply/netlink/link.h"
#include "apply/netlink/netns.h"
#include "apply/netlink/route.h"
#include "base/cleanup.h"
#include "netns.h"

static int open_links(void **state)
{
    return lab_open(state) ||
           system("ip link add d0 type veth peer name d1 && "
                  "ip link add e0 type veth peer name e1 && ip link set d1 up && "
                  "ip link set d0 up && ip link set e1 up && ip link set e0 up");
}

static struct nl_route made(const char *to, const char *via)
{
    struct nl_route route = { .ifindex = if_nametoindex("d0") };
    assert_int_equal(prefix_parse(to, &route.to), 0);
    if (via)
        assert_int_equal(ip_parse(via, &route.via), 0);
    return route;
}

static bool is_there(struct lab *lab, const struct nl_route *route)
{
    AUTOVEC nl_route_list list = { 0 };
    bool found = false;
    assert_int_equal(nl_route_dump(lab->other, route->ifindex, &list), 0);
    vec_each(const struct nl_route, it, &list) {
        assert_int_equal(it->ifindex, route->ifindex);
        found |= prefix_cmp(&it->to, &route->to) == 0 && ip_equal(&it->via, &route->via);
    }
    return found;
}

static void gateways_are_reached_by_a_route(void **state)
{
    static const char *const routes[][2] = {
        { "192.0.2.7/32", NULL }, { "0.0.0.0/0", "192.0.2.7" }, { "fd00::1/128", NULL },
        { "::/0", "fd00::1" },    { "fd05::/64", "fe80::1" },   { "198.51.100.0/24", "192.0.2.7" },
    };
    struct lab *lab = *state;
    run("ip addr add 10.7.0.2/32 dev d0 && ip addr add fd07::2/128 nodad dev d0");
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        const struct nl_route route = made(routes[i][0], routes[i][1]);
        assert_false(is_there(lab, &route));
        assert_int_equal(nl_route_add(lab->other, &route, NULL), 0);
        assert_true(is_there(lab, &route));
        assert_int_equal(nl_route_add(lab->other, &route, NULL), -EEXIST);
    }
    run("test \"$(ip route show default)\" = 'default via 192.0.2.7 dev d0 '");
}

static void refusals_have_words(void **state)
{
    struct lab *lab = *state;
    struct nl_result result = { 0 };
    const struct nl_route far = made("0.0.0.0/0", "203.0.113.1");
    assert_int_equal(nl_route_add(lab->other, &far, &result), -ENETUNREACH);
    assert_string_not_equal(result.text, "");
    struct nl_route nowhere = made("192.0.2.7/32", NULL);
    nowhere.ifindex = 999;
    assert_int_equal(nl_route_add(lab->other, &nowhere, NULL), -ENODEV);
}

static void only_routes_of_the_link_are_read(void **state)
{
    struct lab *lab = *state;
    AUTOVEC nl_route_list list = { 0 };
    run("ip route add 192.0.2.1/32 dev e0 && ip route add 192.0.2.2/32 dev d0 table 77 && "
        "ip addr add 10.7.0.2/24 dev d0 && ip route add blackhole 192.0.2.3/32 && "
        "ip -6 route add fd00::1/128 dev e0");
    assert_int_equal(nl_route_dump(lab->other, if_nametoindex("d0"), &list), 0);
    assert_int_equal(list.count, 1); /* whatever table it is in */
    assert_memory_equal(list.items[0].to.ip.bytes, ((uint8_t[]){ 192, 0, 2, 2 }), 4);
}

static void namespaces_have_numbers(void **state)
{
    struct lab *lab = *state;
    AUTOCLOSE int netns = another_netns();
    AUTOCLOSE int stranger = another_netns();
    AUTOCLOSE int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const struct nl_veth here = { .name = "pod0" }, there = { .name = "eth0" };
    struct nl_link link;
    int32_t number = 7;
    assert_int_equal(nl_link_add_veth(lab->other, &here, &there, netns, NULL), 0);
    assert_int_equal(nl_link_find(lab->other, "pod0", &link), 0);
    assert_int_equal(nl_netns_number(lab->other, netns, &number), 0);
    assert_true(number >= 0);
    assert_int_equal(number, link.peer_nsid);
    assert_int_equal(nl_netns_number(lab->other, stranger, &number), 0);
    assert_int_equal(number, -1);
    assert_true(nl_netns_number(lab->other, none, &number) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gateways_are_reached_by_a_route, open_links, lab_close),
        cmocka_unit_test_setup_teardown(refusals_have_words, open_links, lab_close),
        cmocka_unit_test_setup_teardown(only_routes_of_the_link_are_read, open_links, lab_close),
        cmocka_unit_test_setup_teardown(namespaces_have_numbers, open_links, lab_close),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
