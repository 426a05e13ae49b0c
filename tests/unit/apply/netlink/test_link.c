// SPDX-License-Identifier: Apache-2.0
/* Links by typed requests: made, read back, changed, moved and deleted, here and elsewhere. */
#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>

#include "apply/netlink/link.h"
#include "base/cleanup.h"
#include "netns.h"

static const uint8_t macs[2][6] = { { 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 2 } };

static struct nl_socket *open_in(int netns)
{
    struct nl_socket *socket = NULL;
    assert_int_equal(nl_open_in(netns, NETLINK_ROUTE, &socket), 0);
    return socket;
}

static struct nl_link find(struct nl_socket *socket, const char *name)
{
    struct nl_link link, again;
    assert_int_equal(nl_link_find(socket, name, &link), 0);
    assert_int_equal(nl_link_read(socket, link.ifindex, &again), 0);
    assert_string_equal(link.name, name);
    assert_string_equal(again.name, name);
    return link;
}

static void expect_missing(struct nl_socket *socket, const char *name)
{
    struct nl_link link;
    assert_int_equal(nl_link_find(socket, name, &link), -ENODEV);
}

static void pair_of_one_namespace(void **state)
{
    struct lab *lab = *state;
    const struct nl_veth left = { "left", macs[0], 1400 }, right = { "right", macs[1], 1300 };
    assert_int_equal(nl_link_add_veth(lab->other, &left, &right, NL_HERE, NULL), 0);
    struct nl_link a = find(lab->other, "left"), b = find(lab->other, "right");
    assert_string_equal(a.kind, "veth");
    assert_int_equal(a.type, ARPHRD_ETHER);
    assert_int_equal(a.mtu, 1400);
    assert_int_equal(b.mtu, 1300);
    assert_memory_equal(a.mac, macs[0], 6);
    assert_memory_equal(b.mac, macs[1], 6);
    assert_int_equal(a.peer, b.ifindex);
    assert_int_equal(b.peer, a.ifindex);
    assert_int_equal(a.peer_nsid, -1);
    assert_int_equal(a.master, 0);
    assert_true(!a.up && a.arp && a.v6_generates && a.alias[0] == '\0');
}

static void pair_of_two_namespaces(void **state)
{
    struct lab *lab = *state;
    AUTOCLOSE int netns = another_netns();
    CLEANUP(nl_closep) struct nl_socket *there = open_in(netns);
    const struct nl_veth host = { .name = "host0", .mtu = 1400 };
    const struct nl_veth pod = { .name = "eth0", .mac = macs[1], .mtu = 1400 };
    assert_int_equal(nl_link_add_veth(lab->other, &host, &pod, netns, NULL), 0);
    expect_missing(lab->other, "eth0");
    expect_missing(there, "host0");

    struct nl_link a = find(lab->other, "host0"), b = find(there, "eth0");
    assert_int_equal(a.peer, b.ifindex);
    assert_int_equal(b.peer, a.ifindex);
    assert_true(a.peer_nsid >= 0 && b.peer_nsid >= 0);
    assert_int_equal(b.mtu, 1400);
    assert_memory_equal(b.mac, macs[1], 6);

    assert_int_equal(nl_link_delete(lab->other, a.ifindex, NULL), 0);
    expect_missing(lab->other, "host0");
    expect_missing(there, "eth0");
}

static void changes_are_read_back(void **state)
{
    struct lab *lab = *state;
    char alias[NL_LINK_ALIASLEN];
    memset(alias, 'x', sizeof(alias) - 1);
    alias[sizeof(alias) - 1] = '\0';
    const struct nl_veth left = { .name = "left" }, right = { .name = "right" };
    assert_int_equal(nl_link_add_veth(lab->other, &left, &right, NL_HERE, NULL), 0);
    const uint32_t ifindex = find(lab->other, "left").ifindex;

    const struct nl_link_change first = {
        .alias = alias,
        .mac = macs[0],
        .mtu = 1280,
        .no_arp = true,
        .no_v6_addresses = true,
    };
    assert_int_equal(nl_link_change(lab->other, ifindex, &first, NULL), 0);
    struct nl_link link = find(lab->other, "left");
    assert_string_equal(link.alias, alias);
    assert_memory_equal(link.mac, macs[0], 6);
    assert_int_equal(link.mtu, 1280);
    assert_true(!link.arp && !link.v6_generates && !link.up);

    /* What is not named stays. */
    const struct nl_link_change up = { .state = NL_LINK_UP }, down = { .state = NL_LINK_DOWN };
    assert_int_equal(nl_link_change(lab->other, ifindex, &up, NULL), 0);
    link = find(lab->other, "left");
    assert_true(link.up && !link.arp && !link.v6_generates);
    assert_string_equal(link.alias, alias);
    assert_int_equal(link.mtu, 1280);
    assert_int_equal(nl_link_change(lab->other, ifindex, &down, NULL), 0);
    assert_false(find(lab->other, "left").up);

    /* The mirror has the whole of it. */
    assert_int_equal(kernel_read(lab->kernel), 0);
    assert_string_equal(link_named(kernel_links(lab->kernel), "left")->alias, alias);
    const struct nl_link_change plain = { .alias = "" };
    assert_int_equal(nl_link_change(lab->other, ifindex, &plain, NULL), 0);
    assert_string_equal(find(lab->other, "left").alias, "");
}

static void a_link_moves(void **state)
{
    struct lab *lab = *state;
    AUTOCLOSE int netns = another_netns();
    CLEANUP(nl_closep) struct nl_socket *there = open_in(netns);
    const struct nl_veth left = { .name = "left" }, right = { .name = "right" };
    const struct nl_link_change up = { .state = NL_LINK_UP };
    assert_int_equal(nl_link_add_veth(lab->other, &left, &right, NL_HERE, NULL), 0);
    assert_int_equal(nl_link_add_veth(there, &left, &right, NL_HERE, NULL), 0);
    const uint32_t ifindex = find(lab->other, "left").ifindex;
    assert_int_equal(nl_link_change(lab->other, ifindex, &up, NULL), 0);

    assert_int_equal(nl_link_move(lab->other, ifindex, netns, NULL, NULL), -EEXIST);
    assert_int_equal(nl_link_move(lab->other, ifindex, netns, "right", NULL), -EEXIST);
    assert_true(find(lab->other, "left").up);
    assert_int_equal(nl_link_move(lab->other, ifindex, netns, "eth0", NULL), 0);
    expect_missing(lab->other, "left");
    struct nl_link moved = find(there, "eth0");
    assert_false(moved.up);
    assert_true(moved.peer_nsid >= 0);
    assert_int_equal(moved.peer, find(lab->other, "right").ifindex);
    assert_int_equal(nl_link_move(lab->other, ifindex, netns, NULL, NULL), -ENODEV);
}

/* Names are taken here or there: nothing of the pair is made. */
static void taken_names_are_refused(void **state)
{
    struct lab *lab = *state;
    AUTOCLOSE int netns = another_netns();
    CLEANUP(nl_closep) struct nl_socket *there = open_in(netns);
    const struct nl_veth left = { .name = "left" }, right = { .name = "right" };
    const struct nl_veth eth0 = { .name = "eth0" }, host = { .name = "host0" };
    assert_int_equal(nl_link_add_veth(lab->other, &left, &right, NL_HERE, NULL), 0);
    assert_int_equal(nl_link_add_veth(there, &eth0, &right, NL_HERE, NULL), 0);

    assert_int_equal(nl_link_add_veth(lab->other, &left, &host, netns, NULL), -EEXIST);
    expect_missing(there, "host0");
    assert_int_equal(nl_link_add_veth(lab->other, &host, &eth0, netns, NULL), -EEXIST);
    expect_missing(lab->other, "host0");
}

static void refusals_have_words(void **state)
{
    struct lab *lab = *state;
    struct nl_result result;
    struct nl_link link;
    AUTOCLOSE int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const struct nl_veth left = { .name = "left" }, right = { .name = "right" };
    const struct nl_veth unnamed = { .name = "a name that is too long" };
    const struct nl_link_change big = { .mtu = 1 << 20 };

    assert_int_equal(nl_link_add_veth(lab->other, &left, &right, file, &result), -EINVAL);
    assert_true(nl_link_add_veth(lab->other, &left, &right, 999, &result) < 0);
    assert_true(nl_link_add_veth(lab->other, &unnamed, &right, NL_HERE, &result) < 0);
    expect_missing(lab->other, "left");
    expect_missing(lab->other, "right");

    assert_int_equal(nl_link_add_veth(lab->other, &left, &right, NL_HERE, NULL), 0);
    const uint32_t ifindex = find(lab->other, "left").ifindex;
    assert_int_equal(nl_link_change(lab->other, ifindex, &big, &result), -EINVAL);
    assert_string_equal(result.text, "mtu greater than device maximum");
    assert_true(nl_link_move(lab->other, ifindex, file, NULL, &result) < 0);

    assert_int_equal(nl_link_change(lab->other, 4711, &big, &result), -ENODEV);
    assert_int_equal(nl_link_move(lab->other, 4711, file, NULL, &result) < 0, true);
    assert_int_equal(nl_link_delete(lab->other, 4711, &result), -ENODEV);
    assert_int_equal(nl_link_read(lab->other, 4711, &link), -ENODEV);
}

static void sockets_keep_their_namespace(void **state)
{
    struct lab *lab = *state;
    int netns = another_netns();
    CLEANUP(nl_closep) struct nl_socket *there = NULL;
    assert_int_equal(nl_open_in(netns, NETLINK_ROUTE, &there), 0);
    close(netns);

    const struct nl_veth left = { .name = "left" }, right = { .name = "right" };
    struct nl_link link;
    assert_int_equal(nl_link_add_veth(there, &left, &right, NL_HERE, NULL), 0);
    assert_int_equal(nl_link_find(there, "left", &link), 0);
    assert_int_equal(nl_link_find(lab->other, "left", &link), -ENODEV);
    assert_int_equal(if_nametoindex("left"), 0);
}

/* A socket keeps its namespace; with the last hold on it the peer goes, and the pair with it. */
static void a_namespace_ends(void **state)
{
    struct lab *lab = *state;
    int netns = another_netns();
    struct nl_socket *there = open_in(netns);
    const struct nl_veth host = { .name = "host0" }, pod = { .name = "eth0" };
    assert_int_equal(nl_link_add_veth(lab->other, &host, &pod, netns, NULL), 0);
    close(netns);
    (void)find(there, "eth0");
    assert_int_equal(kernel_read(lab->kernel), 0);
    assert_non_null(link_named(kernel_links(lab->kernel), "host0"));
    nl_close(there);
    while (link_named(kernel_links(lab->kernel), "host0"))
        await_news(lab->kernel);
    expect_missing(lab->other, "host0");
}

static void odd_messages_are_passed_over(void **state)
{
    (void)state;
    struct ifinfomsg fixed = { .ifi_index = 7, .ifi_flags = IFF_UP };
    struct nl_request request;
    struct nl_link link = { .ifindex = 1 };
    nl_begin(&request, RTM_NEWLINK, 0, &fixed, sizeof(fixed));
    nl_put_string(&request, IFLA_IFNAME, "eth0");
    assert_false(nl_link_decode(request.header, &link)); /* no MTU: what a driver says */
    nl_put_u32(&request, IFLA_MTU, 1500);
    nl_put_u8(&request, IFLA_LINK, 3); /* of another size: as if absent */
    struct nlattr *families = nl_begin_nest(&request, IFLA_AF_SPEC, NULL, 0);
    struct nlattr *v6 = nl_begin_nest(&request, AF_INET6, NULL, 0);
    nl_put_u32(&request, IFLA_INET6_ADDR_GEN_MODE, 0);
    nl_end_nest(&request, v6);
    nl_end_nest(&request, families);
    assert_int_equal(link.ifindex, 1);
    assert_true(nl_link_decode(request.header, &link));
    assert_int_equal(link.peer, 0);
    assert_true(link.up && !link.v6_generates);
    for (uint32_t length = request.header->nlmsg_len; length >= NLMSG_HDRLEN; length--) {
        request.header->nlmsg_len = length; /* cut anywhere, nothing behind it is read */
        (void)nl_link_decode(request.header, &link);
    }
    assert_false(nl_link_decode(request.header, &link));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pair_of_one_namespace, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(pair_of_two_namespaces, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(changes_are_read_back, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(a_link_moves, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(taken_names_are_refused, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(refusals_have_words, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(sockets_keep_their_namespace, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(a_namespace_ends, lab_open, lab_close),
        cmocka_unit_test(odd_messages_are_passed_over),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
