// SPDX-License-Identifier: Apache-2.0
/* Packet sockets at the two ends of a cable, and a real kernel that answers between them. */
#include <errno.h>
#include <net/if.h>

#include "apply/segment/segment_socket.h"
#include "netns.h"

static const uint8_t mac_a[6] = { 2, 0, 0, 0, 0, 0xa }, mac_b[6] = { 2, 0, 0, 0, 0, 0xb };

static int open_cable(void **state)
{
    return lab_open(state) ||
           system("ip link add n0 address 02:00:00:00:00:0a type veth peer name n1 address "
                  "02:00:00:00:00:0b && "
                  "echo 1 > /proc/sys/net/ipv6/conf/n1/accept_dad && "
                  "ip link set n0 up && ip link set n1 up && ip addr add 192.0.2.1/24 dev n1 && "
                  "ip addr add 2001:db8::1/64 dev n1 nodad");
}

static struct segment_socket *open_at(const char *name)
{
    struct segment_socket *made;
    assert_int_equal(segment_socket_open(if_nametoindex(name), &made), 0);
    return made;
}

static struct ip ip_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

/* A claim of this address, if one comes; others, of the kernel's own making, are passed over. */
static bool heard(struct segment_socket *from, const char *text, int limit_ms,
                  struct segment_claim *ret_claim)
{
    const struct ip ip = ip_of(text);
    struct pollfd ready = { .fd = segment_socket_fd(from), .events = POLLIN };
    while (poll(&ready, 1, limit_ms) == 1) {
        while (segment_socket_receive(from, ret_claim) == 1) {
            if (ip_equal(&ret_claim->ip, &ip))
                return true;
        }
    }
    return false;
}

static struct segment_claim hear(struct segment_socket *from, const char *text)
{
    struct segment_claim claim;
    assert_true(heard(from, text, 10000, &claim));
    return claim;
}

/* Until linkwatch has told of the carrier, within a second, the kernel drops what is sent. */
static void await_carrier(struct segment_socket *from, struct segment_socket *to, const char *text)
{
    const struct ip ip = ip_of(text);
    struct segment_claim claim;
    for (int attempt = 0; attempt < 100; attempt++) {
        assert_int_equal(segment_socket_send(from, SEGMENT_PROBE, &ip, mac_a), 0);
        if (heard(to, text, 100, &claim))
            return;
    }
    fail_msg("no carrier within ten seconds");
}

static void what_one_says_the_other_hears(void **state)
{
    (void)state;
    static const char *const texts[] = { "192.0.2.9", "2001:db8::9" };
    CLEANUP(segment_socket_closep) struct segment_socket *a = open_at("n0"), *b = open_at("n1");
    await_carrier(a, b, "192.0.2.200");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct ip ip = ip_of(texts[i]);
        assert_int_equal(segment_socket_send(a, SEGMENT_PROBE, &ip, mac_a), 0);
        assert_true(hear(b, texts[i]).is_probe);
        assert_int_equal(segment_socket_send(a, SEGMENT_ANNOUNCE, &ip, mac_a), 0);
        const struct segment_claim claim = hear(b, texts[i]);
        assert_false(claim.is_probe);
        assert_memory_equal(claim.mac, mac_a, 6);
    }
    const struct ip ip = ip_of(texts[0]);
    assert_int_equal(segment_socket_send(a, SEGMENT_REPLY, &ip, mac_a), 0);
    assert_false(hear(b, texts[0]).is_probe);
}

/* In one namespace the kernel would hear itself: the far end is in another one. */
static void who_has_the_address_answers_a_probe(void **state)
{
    static const char *const texts[] = { "192.0.2.1", "2001:db8::1" };
    (void)state;
    run("ip netns add far$PPID && ip link set n1 netns far$PPID && "
        "ip -n far$PPID link set n1 up && ip -n far$PPID addr add 192.0.2.1/24 dev n1 && "
        "ip -n far$PPID addr add 2001:db8::1/64 dev n1 nodad");
    CLEANUP(segment_socket_closep) struct segment_socket *a = open_at("n0");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct ip ip = ip_of(texts[i]);
        await_carrier(a, a, texts[i]); /* IPv6 of the far end may be ready later than IPv4 */
        assert_int_equal(segment_socket_send(a, SEGMENT_PROBE, &ip, mac_a), 0);
        const struct segment_claim claim = hear(a, texts[i]);
        assert_false(claim.is_probe);
        assert_memory_equal(claim.mac, mac_b, 6);
    }
    run("ip netns del far$PPID");
}

static void what_it_sends_itself_is_not_heard(void **state)
{
    struct segment_claim claim;
    const struct ip ip = ip_of("192.0.2.9");
    (void)state;
    CLEANUP(segment_socket_closep) struct segment_socket *a = open_at("n0"), *b = open_at("n1");
    await_carrier(a, b, "192.0.2.200");
    assert_int_equal(segment_socket_send(a, SEGMENT_ANNOUNCE, &ip, mac_a), 0);
    (void)hear(b, "192.0.2.9");
    while (segment_socket_receive(a, &claim) == 1)
        assert_false(ip_equal(&claim.ip, &ip));
}

static void without_the_interface_or_its_link(void **state)
{
    struct segment_socket *none;
    const struct ip ip = ip_of("192.0.2.9");
    (void)state;
    assert_int_equal(segment_socket_open(9999, &none), -ENODEV);
    CLEANUP(segment_socket_closep) struct segment_socket *a = open_at("n0");
    run("ip link set n0 down");
    assert_int_equal(segment_socket_send(a, SEGMENT_PROBE, &ip, mac_a), -ENETDOWN);
    run("ip link set n0 up && ip link set n1 up");
    struct segment_claim claim;
    assert_true(segment_socket_receive(a, &claim) >= 0);
    assert_int_equal(segment_socket_send(a, SEGMENT_PROBE, &ip, mac_a), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_cable, lab_close)
    const struct CMUnitTest tests[] = {
        CASE(what_one_says_the_other_hears),
        CASE(who_has_the_address_answers_a_probe),
        CASE(what_it_sends_itself_is_not_heard),
        CASE(without_the_interface_or_its_link),
    };
    if (lab_missing())
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
