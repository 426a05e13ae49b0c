// SPDX-License-Identifier: Apache-2.0
/* Interface addresses by typed requests: lifetimes, flags and protocol, set and read back. */
#include <errno.h>
#include <linux/if_addr.h>
#include <net/if.h>

#include "apply/netlink/address.h"
#include "base/cleanup.h"
#include "netns.h"

enum { PROTOCOL = 30 };

/* On an interface with a carrier, without a trial. */
static struct nl_address made(const char *text, uint32_t valid_s, uint32_t preferred_s)
{
    char host[64];
    struct ip ip;
    const size_t length = strcspn(text, "/");
    snprintf(host, sizeof(host), "%.*s", (int)length, text);
    assert_int_equal(ip_parse(host, &ip), 0);
    return (struct nl_address){
        .ifindex = if_nametoindex("d0"),
        .ip = ip,
        .length = (uint8_t)atoi(text + length + 1),
        .protocol = PROTOCOL,
        .flags = ip.family == IP_V6 ? IFA_F_NODAD : 0,
        .valid_s = valid_s,
        .preferred_s = preferred_s,
    };
}

static int open_links(void **state)
{
    return lab_open(state) || system("ip link add d0 type veth peer name d1 && "
                                     "echo 1 > /proc/sys/net/ipv6/conf/d0/addr_gen_mode && "
                                     "ip link set d0 up && ip link set d1 up");
}

/* What the kernel has of it; `found` false: it has not. */
static struct nl_address read_back(struct lab *lab, const struct nl_address *wanted, bool *found)
{
    struct nl_address got = { 0 };
    AUTOVEC nl_address_list addresses = { 0 };
    assert_int_equal(nl_address_dump(lab->other, wanted->ifindex, &addresses), 0);
    *found = false;
    vec_each(const struct nl_address, it, &addresses) {
        assert_int_equal(it->ifindex, wanted->ifindex);
        if (!ip_equal(&it->ip, &wanted->ip) || it->length != wanted->length)
            continue;
        got = *it;
        *found = true;
    }
    return got;
}

static struct nl_address expect(struct lab *lab, const struct nl_address *wanted)
{
    bool found;
    struct nl_address got = read_back(lab, wanted, &found);
    assert_true(found);
    return got;
}

static void expect_none(struct lab *lab, const struct nl_address *wanted)
{
    bool found;
    (void)read_back(lab, wanted, &found);
    assert_false(found);
}

static const char *const texts[] = { "10.7.0.1/24", "10.8.0.1/32", "fd07::1/64", "fd08::1/128" };

static void addresses_are_read_back(void **state)
{
    struct lab *lab = *state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct nl_address address = made(texts[i], 3000, 2000);
        assert_int_equal(nl_address_add(lab->other, &address, NULL), 0);
        assert_int_equal(nl_address_add(lab->other, &address, NULL), -EEXIST);
        struct nl_address got = expect(lab, &address);
        assert_true(ip_equal(&got.peer, &address.ip));
        assert_int_equal(got.protocol, PROTOCOL);
        assert_int_equal(got.scope, 0);
        assert_false(got.flags & (IFA_F_PERMANENT | IFA_F_TENTATIVE | IFA_F_DEPRECATED));
        assert_true(got.valid_s <= 3000 && got.valid_s > 2000);
        assert_true(got.preferred_s <= 2000 && got.preferred_s > 1000);
        assert_int_equal(nl_address_delete(lab->other, &address, NULL), 0);
        expect_none(lab, &address);
        assert_int_equal(nl_address_delete(lab->other, &address, NULL), -EADDRNOTAVAIL);
    }
}

static void replacing_renews_lifetimes(void **state)
{
    struct lab *lab = *state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct nl_address first = made(texts[i], NL_FOREVER, NL_FOREVER);
        const struct nl_address short_one = made(texts[i], 3000, 0);
        assert_int_equal(nl_address_replace(lab->other, &first, NULL), 0);
        struct nl_address got = expect(lab, &first);
        assert_int_equal(got.valid_s, NL_FOREVER);
        assert_int_equal(got.preferred_s, NL_FOREVER);
        assert_true(got.flags & IFA_F_PERMANENT);

        assert_int_equal(nl_address_replace(lab->other, &short_one, NULL), 0);
        got = expect(lab, &first);
        assert_true(got.valid_s <= 3000 && got.valid_s > 2000);
        assert_int_equal(got.preferred_s, 0);
        assert_true(got.flags & IFA_F_DEPRECATED);
        assert_int_equal(got.protocol, PROTOCOL);

        assert_int_equal(nl_address_replace(lab->other, &first, NULL), 0);
        got = expect(lab, &first);
        assert_int_equal(got.valid_s, NL_FOREVER);
        assert_false(got.flags & IFA_F_DEPRECATED);
    }
}

/* The kernel takes it away by itself. */
static void a_lifetime_ends(void **state)
{
    struct lab *lab = *state;
    const struct nl_address v4 = made("10.7.0.1/32", 1, 1), v6 = made("fd07::1/128", 1, 1);
    assert_int_equal(nl_address_add(lab->other, &v4, NULL), 0);
    assert_int_equal(nl_address_add(lab->other, &v6, NULL), 0);
    assert_int_equal(kernel_read(lab->kernel), 0);
    assert_int_equal(kernel_link_addresses(lab->kernel)->count, 2);
    while (kernel_link_addresses(lab->kernel)->count > 0)
        await_news(lab->kernel);
    expect_none(lab, &v4);
    expect_none(lab, &v6);
}

static void flags_are_obeyed(void **state)
{
    struct lab *lab = *state;
    struct nl_address v4 = made("10.7.0.1/24", NL_FOREVER, NL_FOREVER);
    struct nl_address v6 = made("fd07::1/64", NL_FOREVER, NL_FOREVER);
    v4.flags |= IFA_F_NOPREFIXROUTE;
    v6.flags |= IFA_F_NOPREFIXROUTE;
    assert_int_equal(nl_address_add(lab->other, &v4, NULL), 0);
    assert_int_equal(nl_address_add(lab->other, &v6, NULL), 0);
    assert_true(expect(lab, &v4).flags & IFA_F_NOPREFIXROUTE);
    assert_true(expect(lab, &v6).flags & IFA_F_NOPREFIXROUTE);
    assert_true(expect(lab, &v6).flags & IFA_F_NODAD);
    run("test -z \"$(ip route show dev d0)$(ip -6 route show fd07::/64)\"");
}

static void a_peer_has_the_length(void **state)
{
    struct lab *lab = *state;
    struct nl_address address = made("10.7.0.1/24", NL_FOREVER, NL_FOREVER);
    assert_int_equal(ip_parse("10.9.0.2", &address.peer), 0);
    assert_int_equal(nl_address_add(lab->other, &address, NULL), 0);
    struct nl_address got = expect(lab, &address);
    assert_true(ip_equal(&got.peer, &address.peer));
    run("test \"$(ip route show dev d0)\" = '10.9.0.0/24 proto kernel scope link src 10.7.0.1 '");
    assert_int_equal(nl_address_delete(lab->other, &got, NULL), 0);
    expect_none(lab, &address);
}

static void dumps_are_of_one_interface_or_all(void **state)
{
    struct lab *lab = *state;
    AUTOVEC nl_address_list one = { 0 }, all = { 0 };
    const struct nl_address address = made("10.7.0.1/24", NL_FOREVER, NL_FOREVER);
    assert_int_equal(nl_address_add(lab->other, &address, NULL), 0);
    assert_int_equal(nl_address_dump(lab->other, address.ifindex, &one), 0);
    assert_int_equal(nl_address_dump(lab->other, 0, &all), 0);
    assert_int_equal(one.count, 1);
    assert_true(all.count > one.count); /* the loopback's */
    assert_int_equal(all.items[0].ip.family, IP_V4);
    assert_int_equal(all.items[all.count - 1].ip.family, IP_V6);
    assert_int_equal(nl_address_dump(lab->other, 4711, &one), -ENODEV);
    assert_int_equal(one.count, 1);
}

static void refusals_have_words(void **state)
{
    struct lab *lab = *state;
    struct nl_result result;
    struct nl_address elsewhere = made("10.7.0.1/24", NL_FOREVER, NL_FOREVER);
    elsewhere.ifindex = 4711;
    assert_int_equal(nl_address_add(lab->other, &elsewhere, &result), -ENODEV);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct nl_address never = made(texts[i], 0, 0), longer = made(texts[i], 10, 20);
        assert_int_equal(nl_address_add(lab->other, &never, &result), -EINVAL);
        assert_true(result.text[0]);
        assert_int_equal(nl_address_replace(lab->other, &longer, &result), -EINVAL);
        assert_true(result.text[0]);
        expect_none(lab, &never);
    }
}

static void odd_messages_are_passed_over(void **state)
{
    (void)state;
    const struct ip ip = { IP_V4, { 10, 0, 0, 1 } };
    struct ifaddrmsg fixed = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 7 };
    struct nl_request request;
    struct nl_address address;
    nl_begin(&request, RTM_NEWADDR, 0, &fixed, sizeof(fixed));
    nl_put_u8(&request, IFA_LOCAL, 1);
    assert_false(nl_address_decode(request.header, &address)); /* no address of the right size */
    nl_put_ip(&request, IFA_ADDRESS, &ip);
    nl_put_u32(&request, IFA_PROTO, 7);
    nl_put_u32(&request, IFA_CACHEINFO, 7);
    assert_true(nl_address_decode(request.header, &address));
    assert_true(ip_equal(&address.ip, &ip) && ip_equal(&address.peer, &ip));
    assert_int_equal(address.protocol, 0);
    assert_int_equal(address.valid_s, NL_FOREVER);

    struct ifaddrmsg *inside = mnl_nlmsg_get_payload(request.header);
    inside->ifa_prefixlen = 33;
    assert_false(nl_address_decode(request.header, &address));
    inside->ifa_prefixlen = 32;
    inside->ifa_family = AF_DECnet;
    assert_false(nl_address_decode(request.header, &address));
    inside->ifa_family = AF_INET;
    for (uint32_t length = request.header->nlmsg_len; length >= NLMSG_HDRLEN; length--) {
        request.header->nlmsg_len = length;
        (void)nl_address_decode(request.header, &address);
    }
    assert_false(nl_address_decode(request.header, &address));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(addresses_are_read_back, open_links, lab_close),
        cmocka_unit_test_setup_teardown(replacing_renews_lifetimes, open_links, lab_close),
        cmocka_unit_test_setup_teardown(a_lifetime_ends, open_links, lab_close),
        cmocka_unit_test_setup_teardown(flags_are_obeyed, open_links, lab_close),
        cmocka_unit_test_setup_teardown(a_peer_has_the_length, open_links, lab_close),
        cmocka_unit_test_setup_teardown(dumps_are_of_one_interface_or_all, open_links, lab_close),
        cmocka_unit_test_setup_teardown(refusals_have_words, open_links, lab_close),
        cmocka_unit_test(odd_messages_are_passed_over),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
