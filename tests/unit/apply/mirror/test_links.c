// SPDX-License-Identifier: Apache-2.0
/* Interfaces and their addresses in the mirror, and the routes that go silently with them. */
#include <errno.h>
#include <linux/if_link.h>
#include <net/if_arp.h>
#include <sys/socket.h>

#include "netns.h"

static const struct link *named(struct lab *lab, const char *name)
{
    return link_named(kernel_links(lab->kernel), name);
}

/* True if reading tells of links; the mirror is true in any case. */
static bool told(struct lab *lab)
{
    assert_int_equal(kernel_read(lab->kernel), 0);
    expect_mirror_is_true(lab);
    bool links = kernel_events(lab->kernel)->links;
    kernel_events_done(lab->kernel);
    return links;
}

static void links_are_described(void **state)
{
    struct lab *lab = *state;
    const struct link *lo = named(lab, "lo");
    assert_int_equal(lo->ifindex, 1);
    assert_int_equal(lo->type, ARPHRD_LOOPBACK);
    assert_true(lo->up);
    assert_string_equal(lo->kind, "");

    run("ip link add d0 address 02:00:00:00:00:07 mtu 1400 type veth peer name d1");
    run("ip link set d0 alias fingerpost && ip link set d0 up");
    run("ip link set d1 alias 'much longer than an alias is when it is one of ours'");
    run("ip link add br0 type bridge && ip link set d1 master br0 && ip link set d1 up");
    run("ip link add v7 type vxlan id 7 dstport 4789 && ip tuntap add t0 mode tun");
    assert_true(told(lab));
    const struct link *d0 = named(lab, "d0"), *d1 = named(lab, "d1"), *br0 = named(lab, "br0");
    static const uint8_t mac[6] = { 2, [5] = 7 };
    assert_memory_equal(d0->mac, mac, sizeof(mac));
    assert_int_equal(d0->mtu, 1400);
    assert_int_equal(d0->type, ARPHRD_ETHER);
    assert_int_equal(d0->master, 0);
    assert_string_equal(d0->kind, "veth");
    assert_int_equal(d0->lower, d1->ifindex);
    assert_int_equal(d1->lower, d0->ifindex);
    assert_string_equal(d0->alias, "fingerpost");
    assert_true(d0->up);
    assert_false(br0->up);
    assert_true(d1->up);
    assert_int_equal(d1->master, br0->ifindex);
    assert_string_equal(d1->alias, "much longer than an alias is when it is one of ours");
    assert_string_equal(br0->kind, "bridge");
    assert_string_equal(named(lab, "v7")->kind, "vxlan");
    assert_int_equal(named(lab, "t0")->type, ARPHRD_NONE);
    assert_ptr_equal(link_find(kernel_links(lab->kernel), d0->ifindex), d0);
    assert_null(named(lab, "d2"));
    assert_null(link_find(kernel_links(lab->kernel), 9999));
}

static bool leads(const struct kernel *kernel, const char *name, const char *net)
{
    const struct link *link = link_named(kernel_links(kernel), name);
    struct link_path path = { .ifindex = link ? link->ifindex : 0 };
    if (net)
        assert_int_equal(prefix_parse(net, &path.net), 0);
    return sorted_find(kernel_paths(kernel), &path) != NULL;
}

/* Of routes of all tables: where they lead, told once. */
static void ways_are_followed(void **state)
{
    const struct kernel_scope scope = { .links = true, .paths = true };
    CLEANUP(kernel_closep) struct kernel *kernel = NULL;

    (void)state;
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up && "
        "ip addr add 10.7.0.1/24 dev d0 && ip route add 10.8.0.5 dev d1 table 117");
    assert_int_equal(kernel_open(&scope, NL_HERE, &kernel), 0);
    assert_true(leads(kernel, "d0", "10.7.0.0/24"));
    assert_true(leads(kernel, "d1", "10.8.0.5/32"));
    assert_false(leads(kernel, "d0", NULL) || leads(kernel, "d0", "10.7.0.1/32"));
    assert_int_equal(kernel_paths(kernel)->count, 2);

    run("ip route add 10.9.0.0/16 via 10.7.0.9 && ip route add 10.8.0.6 dev d1 && "
        "ip route add 10.9.1.0/24 via 10.7.0.9 && ip route add blackhole 10.9.2.0/24 && "
        "ip route add 10.9.3.0/24 dev d1 proto 33");
    assert_int_equal(kernel_read(kernel), 0);
    assert_true(leads(kernel, "d0", NULL) && leads(kernel, "d1", "10.8.0.6/32"));
    assert_false(leads(kernel, "d1", "10.9.3.0/24"));
    assert_int_equal(kernel_paths(kernel)->count, 5); /* one of them PATH_VIA */
    assert_true(kernel_events(kernel)->links);
    kernel_events_done(kernel);
    run("ip route add 10.9.4.0/24 via 10.7.0.9"); /* nothing new */
    assert_int_equal(kernel_read(kernel), 0);
    assert_false(kernel_events(kernel)->links);

    run("ip route add 10.9.5.0/24 nexthop via 10.7.0.9 nexthop dev d1");
    assert_int_equal(kernel_read(kernel), 0);
    assert_true(leads(kernel, "d1", NULL));
    run("ip route del 10.8.0.6 dev d1 && ip route del 10.9.5.0/24");
    assert_int_equal(kernel_read(kernel), 0);
    assert_true(leads(kernel, "d1", "10.8.0.6/32")); /* until all is read again */
    assert_int_equal(kernel_resync(kernel), 0);
    assert_false(leads(kernel, "d1", "10.8.0.6/32") || leads(kernel, "d1", NULL));
    run("ip link del d0");
    assert_int_equal(kernel_read(kernel), 0);
    assert_int_equal(kernel_paths(kernel)->count, 0);
}

static bool has_kind(struct kernel *kernel, const char *name, enum path_kind kind)
{
    const struct link *link = link_named(kernel_links(kernel), name);
    const struct link_path path = { .ifindex = link ? link->ifindex : 0,
                                    .kind = kind,
                                    .net.ip.family = IP_V4 };
    return sorted_find(kernel_paths(kernel), &path) != NULL;
}

static bool has_default(struct kernel *kernel, const char *name)
{
    return has_kind(kernel, name, PATH_DEFAULT);
}

/* Where default routes lead is told as it is; that an interface led outward once is kept. */
static void default_routes_are_followed(void **state)
{
    const struct kernel_scope scope = { .links = true, .paths = true };
    CLEANUP(kernel_closep) struct kernel *kernel = NULL;

    (void)state;
    assert_int_equal(kernel_open(&scope, NL_HERE, &kernel), 0);
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up && "
        "ip addr add 10.7.0.1/24 dev d0 && ip addr add 10.8.0.1/24 dev d1 && "
        "ip route add default via 10.7.0.9 && ip route add default via 10.7.0.8 metric 7");
    assert_int_equal(kernel_read(kernel), 0);
    assert_true(has_default(kernel, "d0") && leads(kernel, "d0", NULL));
    run("ip route del default via 10.7.0.8 metric 7");
    assert_int_equal(kernel_read(kernel), 0);
    assert_true(has_default(kernel, "d0"));
    kernel_events_done(kernel);
    run("ip route replace default via 10.8.0.9");
    assert_int_equal(kernel_read(kernel), 0);
    assert_true(kernel_events(kernel)->links);
    assert_true(!has_default(kernel, "d0") && has_default(kernel, "d1"));
    assert_true(leads(kernel, "d0", NULL));
    run("ip link set d1 down && ip link set d1 up"); /* the kernel tells of no route that goes with
                                                        it */
    assert_int_equal(kernel_read(kernel), 0);
    assert_false(has_default(kernel, "d1"));
    run("ip link del d0");
    assert_int_equal(kernel_read(kernel), 0);
}

/* A route by a router that went is none any more when the default route is missed. */
static void routes_by_a_router_end_with_the_default_route(void **state)
{
    const struct kernel_scope scope = { .links = true, .paths = true };
    CLEANUP(kernel_closep) struct kernel *kernel = NULL;

    (void)state;
    assert_int_equal(kernel_open(&scope, NL_HERE, &kernel), 0);
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up && "
        "ip addr add 10.7.0.1/24 dev d0 && ip route add default via 10.7.0.9 && "
        "ip route add 203.0.113.10 via 10.7.0.8 && ip route add 198.51.100.0/24 via 10.7.0.8");
    assert_int_equal(kernel_read(kernel), 0);
    assert_true(has_kind(kernel, "d0", PATH_VIA));
    run("ip route del 203.0.113.10 && ip route del default");
    assert_int_equal(kernel_read(kernel), 0);
    assert_true(has_kind(kernel, "d0", PATH_VIA)); /* there is another one */
    run("ip route add default via 10.7.0.9 && ip route del 198.51.100.0/24 && "
        "ip route del default");
    assert_int_equal(kernel_read(kernel), 0);
    assert_false(has_default(kernel, "d0") || has_kind(kernel, "d0", PATH_VIA));
    assert_true(leads(kernel, "d0", NULL));
    run("ip link del d0");
    assert_int_equal(kernel_read(kernel), 0);
}

/* The kernel does not tell of an alias while the link is down; it does with the next change. */
static void each_change_is_followed(void **state)
{
    struct lab *lab = *state;
    static const char *const changes[] = {
        "ip link add d0 type veth peer name d1",
        "ip link add br0 type bridge",
        "ip link set d0 mtu 1300",
        "ip link set d0 address 02:00:00:00:00:09",
        "ip link set d0 name d7",
        "ip link set d7 up",
        "ip link set d7 alias one",
        "ip link set d7 alias ''",
        "ip link set d7 master br0",
        "ip link set d7 nomaster",
        "ip link set d7 down",
        "ip addr add 10.7.0.1/24 dev d1",
        "ip addr add 10.7.0.2/24 dev d1",
        "ip addr change 10.7.0.1/24 dev d1 preferred_lft 0",
        "ip addr del 10.7.0.2/24 dev d1",
        "ip -6 addr add fd07::1/64 dev d1",
        "ip link del d7",
    };
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        run(changes[i]);
        assert_true(told(lab));
        assert_false(told(lab));
    }
    assert_int_equal(kernel_links(lab->kernel)->count, 2);

    /* What changes nothing that is mirrored is no news. */
    run("ip link set br0 txqueuelen 7");
    assert_false(told(lab));
}

/* Where NAT may be attached by them. Other qdiscs are no news. */
static void filters_that_go_are_told(void **state)
{
    struct lab *lab = *state;
    run("ip link add d0 type veth peer name d1 && tc qdisc add dev d0 clsact");
    run("tc filter add dev d0 ingress pref 7 bpf bytecode '1,6 0 0 0'");
    assert_true(told(lab));
    run("tc filter del dev d0 ingress");
    assert_true(told(lab));
    run("tc qdisc add dev d0 root pfifo && tc qdisc del dev d0 root");
    assert_false(told(lab));
    run("tc qdisc del dev d0 clsact");
    assert_true(told(lab));
}

/* A port that leaves its bridge is told as RTM_DELLINK of the bridge's own family, too. */
static void a_port_that_leaves_stays_a_link(void **state)
{
    struct lab *lab = *state;
    run("ip link add br0 type bridge && ip link add d0 master br0 type veth peer name d1");
    assert_true(told(lab));
    run("ip link set d0 nomaster");
    assert_int_equal(kernel_read(lab->kernel), 0);
    assert_non_null(named(lab, "d0"));
    assert_int_equal(named(lab, "d0")->master, 0);
}

static void lost_notifications_end_in_a_dump(void **state)
{
    struct lab *lab = *state;
    int small = 4096;
    assert_int_equal(
        setsockopt(kernel_fd(lab->kernel), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    run("for i in 1 2 3 4 5 6 7 8; do ip link add x$i type veth peer name y$i; done");
    assert_true(told(lab));
    assert_int_equal(kernel_links(lab->kernel)->count, 17);
}

static const struct link_address *address_at(struct lab *lab, size_t index)
{
    return sorted_at(kernel_link_addresses(lab->kernel), index);
}

static void addresses_keep_the_kernels_order(void **state)
{
    struct lab *lab = *state;
    run("ip link add d0 type veth peer name d1 && ip addr add 10.9.0.1/24 dev d1");
    run("ip addr add 10.8.0.1/24 dev d0 && ip addr add 10.7.0.1/24 dev d0 scope link");
    run("ip addr add 10.6.0.1/24 dev d0 && ip addr add 10.8.0.2/24 dev d0");
    run("ip -6 addr add fd07::1/64 dev d0 nodad && ip -6 addr add fd07::2/64 dev d0");
    run("ip -6 addr change fd07::1/64 dev d0 preferred_lft 0");
    assert_true(told(lab));
    static const struct {
        const char *ip;
        uint8_t scope;
        bool secondary, deprecated, tentative;
    } expected[] = {
        { "10.9.0.1", 0, false, false, false }, { "10.7.0.1", 253, false, false, false },
        { "10.8.0.1", 0, false, false, false }, { "10.6.0.1", 0, false, false, false },
        { "10.8.0.2", 0, true, false, false },  { "fd07::2", 0, false, false, true },
        { "fd07::1", 0, false, true, false },
    };
    assert_int_equal(kernel_link_addresses(lab->kernel)->count, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        const struct link_address *address = address_at(lab, i);
        char text[IP_STRLEN];
        assert_string_equal(ip_str(&address->ip, text), expected[i].ip);
        assert_int_equal(address->ifindex, named(lab, i == 0 ? "d1" : "d0")->ifindex);
        assert_int_equal(address->length, i < 5 ? 24 : 64);
        assert_int_equal(address->scope, expected[i].scope);
        assert_int_equal(address->secondary, expected[i].secondary);
        assert_int_equal(address->deprecated, expected[i].deprecated);
        assert_int_equal(address->tentative, expected[i].tentative);
    }
}

static struct route via(struct lab *lab, const char *prefix, const char *device, const char *source)
{
    struct route route = blackhole(120, prefix, 33);
    route.type = RTN_UNICAST;
    route.ifindex = named(lab, device)->ifindex;
    assert_int_equal(ip_parse(source, &route.source), 0);
    return route;
}

static void set_up_svc0(struct lab *lab)
{
    run("ip link add s0 type veth peer name s1 && ip link set s0 up && ip link set s1 up");
    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up");
    run("ip addr add 10.7.0.1/24 dev d0 && ip -6 addr add fd07::1/64 dev d0 nodad");
    assert_true(told(lab));
}

/* The guard changes between its two shapes in place, and names the address it sends from. */
static void guards_lead_to_a_link(void **state)
{
    struct lab *lab = *state;
    static const char *const cases[][2] = { { "10.0.0.1/32", "10.7.0.1" },
                                            { "10.96.0.0/12", "10.7.0.1" },
                                            { "2001:db8::1/128", "fd07::1" },
                                            { "2001:db8:96::/112", "fd07::1" } };
    set_up_svc0(lab);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct route plain = blackhole(120, cases[i][0], 33);
        struct route led = via(lab, cases[i][0], "s0", cases[i][1]), sourceless = led;
        plain.type = RTN_UNREACHABLE;
        sourceless.source = (struct ip){ 0 };
        apply_good(lab, OP_ADD, plain);
        const struct route *const shapes[] = { &led, &plain, &led, &sourceless, &led };
        for (size_t j = 0; j < ARRAY_SIZE(shapes); j++) {
            apply_good(lab, OP_REPLACE, *shapes[j]);
            assert_true(mirrored(lab, *shapes[j]));
            assert_int_equal(kernel_routes(lab->kernel)->count, i + 1);
            expect_mirror_is_true(lab);
        }
    }
    run("ip rule add pref 1990 lookup 120 protocol 33 && ip -6 rule add pref 1990 lookup 120");
    run("ip route get 10.0.0.1 | grep -q 'dev s0 .*src 10.7.0.1 '");
    run("ip -6 route get 2001:db8:96::7 | grep -q 'dev s0 .*src fd07::1 '");

    while (kernel_routes(lab->kernel)->count > 0)
        apply_good(lab, OP_DELETE, *(struct route *)sorted_at(kernel_routes(lab->kernel), 0));
    expect_mirror_is_true(lab);
}

static void guards_go_with_their_link_or_source(void **state)
{
    struct lab *lab = *state;
    static const struct {
        const char *command;
        size_t left;
        bool told;
    } cases[] = {
        { "ip link set d1 down", 2, false },
        { "ip addr add 10.7.0.2/24 dev d0 && ip addr del 10.7.0.2/24 dev d0", 2, false },
        { "ip addr del 10.7.0.1/24 dev d0", 2, false },  /* outside of main, it stays */
        { "ip -6 addr del fd07::1/64 dev d0", 2, true }, /* the source goes, the route stays */
        { "ip link del d0", 2, false },
        { "ip link set s0 down", 0, true },
    };
    set_up_svc0(lab);
    apply_good(lab, OP_ADD, via(lab, "10.0.0.1/32", "s0", "10.7.0.1"));
    apply_good(lab, OP_ADD, via(lab, "2001:db8::1/128", "s0", "fd07::1"));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        kernel_events_done(lab->kernel);
        run(cases[i].command);
        assert_int_equal(kernel_read(lab->kernel), 0);
        assert_int_equal(kernel_routes(lab->kernel)->count, cases[i].left);
        const struct kernel_events *events = kernel_events(lab->kernel);
        assert_int_equal(events->resynced || events->routes.count > 0, cases[i].told);
        expect_mirror_is_true(lab);
    }
}

static void default_sources_are_the_kernels(void **state)
{
    struct lab *lab = *state;
    struct default_sources sources;
    char text[IP_STRLEN];
    assert_int_equal(kernel_default_sources(lab->kernel, &sources), 0);
    assert_int_equal(sources.v4.family, IP_NONE);
    assert_int_equal(sources.v6.family, IP_NONE);

    run("ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up");
    run("ip addr add 10.7.0.1/24 dev d0 && ip addr add 10.8.0.1/24 dev d0");
    run("ip -6 addr add fd07::1/64 dev d0 nodad");
    assert_int_equal(kernel_default_sources(lab->kernel, &sources), 0);
    assert_int_equal(sources.v4.family, IP_NONE); /* no default route yet */
    run("ip route add default via 10.8.0.2 && ip -6 route add default via fd07::9");
    assert_int_equal(kernel_default_sources(lab->kernel, &sources), 0);
    assert_string_equal(ip_str(&sources.v4, text), "10.8.0.1");
    assert_string_equal(ip_str(&sources.v6, text), "fd07::1");
    run("ip route replace default via 10.8.0.2 src 10.7.0.1");
    assert_int_equal(kernel_default_sources(lab->kernel, &sources), 0);
    assert_string_equal(ip_str(&sources.v4, text), "10.7.0.1");
    run("ip route replace unreachable default");
    assert_int_equal(kernel_default_sources(lab->kernel, &sources), 0);
    assert_int_equal(sources.v4.family, IP_NONE);
}

/* Links as the kernel may tell of them, or anybody's fuzzer. */
static void odd_messages_are_passed_over(void **state)
{
    (void)state;
    struct ifinfomsg fixed = { .ifi_index = 7 };
    struct sorted links = SORTED(struct link, link_cmp);
    struct nl_request request;
    struct link link;
    nl_begin(&request, RTM_NEWLINK, 0, &fixed, sizeof(fixed));
    nl_put_u32(&request, IFLA_MTU, 1500);
    assert_int_equal(links_hear(&links, request.header), 0); /* no name: what a driver says */
    nl_put_string(&request, IFLA_IFNAME, "a name that is longer than any");
    struct nlattr *info = nl_begin_nest(&request, IFLA_LINKINFO, NULL, 0);
    nl_put_string(&request, IFLA_INFO_KIND, "an unheard-of kind");
    nl_put_u32(&request, IFLA_INFO_KIND, UINT32_MAX); /* a string without its end */
    nl_end_nest(&request, info);
    assert_int_equal(links_hear(&links, request.header), 1);
    assert_int_equal(links_hear(&links, request.header), 0);
    assert_true(decode_link(request.header, &link));
    assert_string_equal(link.name, "a name that is ");
    assert_string_equal(link.kind, "an unheard-of k");

    request.header->nlmsg_type = RTM_DELLINK;
    assert_int_equal(links_hear(&links, request.header), 1);
    assert_int_equal(links_hear(&links, request.header), 0);
    request.header->nlmsg_len = NLMSG_HDRLEN + 4;
    assert_false(decode_link(request.header, &link));
    sorted_done(&links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(links_are_described, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(default_routes_are_followed, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(routes_by_a_router_end_with_the_default_route, lab_open,
                                        lab_close),
        cmocka_unit_test_setup_teardown(ways_are_followed, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(each_change_is_followed, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(filters_that_go_are_told, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(a_port_that_leaves_stays_a_link, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(lost_notifications_end_in_a_dump, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(addresses_keep_the_kernels_order, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(guards_lead_to_a_link, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(guards_go_with_their_link_or_source, lab_open, lab_close),
        cmocka_unit_test_setup_teardown(default_sources_are_the_kernels, lab_open, lab_close),
        cmocka_unit_test(odd_messages_are_passed_over),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
