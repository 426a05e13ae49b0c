// SPDX-License-Identifier: Apache-2.0
/* Neighbours by typed requests: permanent ones, proxies, and the state of learnt ones. */
#include <errno.h>
#include <linux/neighbour.h>
#include <net/if.h>

#include "apply/netlink/neighbour.h"
#include "base/cleanup.h"
#include "netns.h"

static const uint8_t macs[2][6] = { { 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 2 } };
static const char *const texts[] = { "10.7.0.2", "fd07::2" };

static int open_links(void **state)
{
    return lab_open(state) ||
           system("ip link add d0 type veth peer name d1 && ip link add e0 type veth peer name e1");
}

static struct nl_neighbour made(const char *text, const uint8_t mac[6], bool proxy)
{
    struct nl_neighbour neighbour = { .ifindex = if_nametoindex("d0"), .proxy = proxy };
    assert_int_equal(ip_parse(text, &neighbour.ip), 0);
    if (mac)
        memcpy(neighbour.mac, mac, sizeof(neighbour.mac));
    return neighbour;
}

/* The one of this address; state NUD_NONE and no family: there is none. */
static struct nl_neighbour read_back(struct lab *lab, const struct nl_neighbour *wanted)
{
    struct nl_neighbour found = { 0 };
    AUTOVEC nl_neighbour_list list = { 0 };
    assert_int_equal(nl_neighbour_dump(lab->other, wanted->ifindex, wanted->proxy, &list), 0);
    vec_each(const struct nl_neighbour, it, &list) {
        assert_int_equal(it->ifindex, wanted->ifindex);
        assert_int_equal(it->proxy, wanted->proxy);
        if (ip_equal(&it->ip, &wanted->ip))
            found = *it;
    }
    return found;
}

static void permanent_ones_stay(void **state)
{
    struct lab *lab = *state;
    run("ip link set d0 up && ip link set d1 up");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct nl_neighbour first = made(texts[i], macs[0], false);
        const struct nl_neighbour second = made(texts[i], macs[1], false);
        assert_int_equal(nl_neighbour_set(lab->other, &first, NULL), 0);
        struct nl_neighbour got = read_back(lab, &first);
        assert_int_equal(got.state, NUD_PERMANENT);
        assert_memory_equal(got.mac, macs[0], 6);
        assert_int_equal(nl_neighbour_set(lab->other, &second, NULL), 0);
        assert_memory_equal(read_back(lab, &first).mac, macs[1], 6);
        assert_int_equal(nl_neighbour_delete(lab->other, &first, NULL), 0);
        assert_int_not_equal(read_back(lab, &first).state, NUD_PERMANENT);
    }
}

static void learnt_ones_have_their_state(void **state)
{
    struct lab *lab = *state;
    run("ip link set d0 up && ip link set d1 up");
    run("ip neigh add 10.7.0.2 dev d0 lladdr 02:00:00:00:00:01 nud stale && "
        "ip neigh add fd07::2 dev d0 lladdr 02:00:00:00:00:01 nud stale");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct nl_neighbour ours = made(texts[i], macs[1], false);
        struct nl_neighbour got = read_back(lab, &ours);
        assert_int_equal(got.state, NUD_STALE);
        assert_memory_equal(got.mac, macs[0], 6);
        assert_int_equal(nl_neighbour_set(lab->other, &ours, NULL), 0);
        assert_int_equal(read_back(lab, &ours).state, NUD_PERMANENT);
    }
}

/* Proxies and neighbours are in tables of their own, and of other interfaces in other rows. */
static void proxies_are_apart(void **state)
{
    struct lab *lab = *state;
    run("ip link set d0 up && ip link set d1 up && ip link set e0 up && ip link set e1 up");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct nl_neighbour proxy = made(texts[i], NULL, true);
        const struct nl_neighbour plain = made(texts[i], NULL, false);
        struct nl_neighbour other = proxy;
        other.ifindex = if_nametoindex("e0");
        assert_int_equal(nl_neighbour_set(lab->other, &proxy, NULL), 0);
        assert_int_equal(nl_neighbour_set(lab->other, &proxy, NULL), 0);
        assert_int_equal(read_back(lab, &proxy).ip.family, proxy.ip.family);
        assert_int_equal(read_back(lab, &plain).ip.family, IP_NONE);
        assert_int_equal(read_back(lab, &other).ip.family, IP_NONE);
        assert_int_equal(nl_neighbour_delete(lab->other, &proxy, NULL), 0);
        assert_int_equal(read_back(lab, &proxy).ip.family, IP_NONE);
        assert_int_equal(nl_neighbour_delete(lab->other, &proxy, NULL), -ENOENT);
    }
}

static void what_is_not_there_is_told(void **state)
{
    struct lab *lab = *state;
    AUTOVEC nl_neighbour_list list = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct nl_neighbour neighbour = made(texts[i], macs[0], false);
        assert_int_equal(nl_neighbour_delete(lab->other, &neighbour, NULL), -ENOENT);
        neighbour.ifindex = 4711;
        assert_int_equal(nl_neighbour_set(lab->other, &neighbour, NULL), -ENODEV);
        assert_int_equal(nl_neighbour_delete(lab->other, &neighbour, NULL), -ENODEV);
    }
    assert_int_equal(nl_neighbour_dump(lab->other, 4711, false, &list), 0);
    assert_int_equal(nl_neighbour_dump(lab->other, 4711, true, &list), 0);
    assert_int_equal(list.count, 0);
}

static void odd_messages_are_passed_over(void **state)
{
    (void)state;
    const struct ip ip = { IP_V4, { 10, 0, 0, 1 } };
    struct ndmsg fixed = { .ndm_family = AF_INET, .ndm_ifindex = 7, .ndm_state = NUD_STALE };
    struct nl_request request;
    struct nl_neighbour neighbour;
    nl_begin(&request, RTM_NEWNEIGH, 0, &fixed, sizeof(fixed));
    assert_false(nl_neighbour_decode(request.header, &neighbour));
    nl_put_ip(&request, NDA_DST, &ip);
    nl_put_u32(&request, NDA_LLADDR, 7); /* no Ethernet address */
    assert_true(nl_neighbour_decode(request.header, &neighbour));
    assert_true(ip_equal(&neighbour.ip, &ip));
    assert_memory_equal(neighbour.mac, (uint8_t[6]){ 0 }, 6);
    struct ndmsg *inside = mnl_nlmsg_get_payload(request.header);
    inside->ndm_family = AF_BRIDGE;
    assert_false(nl_neighbour_decode(request.header, &neighbour));
    inside->ndm_family = AF_INET6;
    assert_false(nl_neighbour_decode(request.header, &neighbour)); /* four bytes are no address */
    for (uint32_t length = request.header->nlmsg_len; length >= NLMSG_HDRLEN; length--) {
        request.header->nlmsg_len = length;
        assert_false(nl_neighbour_decode(request.header, &neighbour));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(permanent_ones_stay, open_links, lab_close),
        cmocka_unit_test_setup_teardown(learnt_ones_have_their_state, open_links, lab_close),
        cmocka_unit_test_setup_teardown(proxies_are_apart, open_links, lab_close),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_told, open_links, lab_close),
        cmocka_unit_test(odd_messages_are_passed_over),
    };
    return lab_missing() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
