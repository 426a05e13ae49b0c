// SPDX-License-Identifier: Apache-2.0
/* Packets for the twin: the very bytes, and checksums by the receiver's rule. */
#include <string.h>

#include "apply/nat/proof/packet.h"
#include "base/macro.h"
#include "cmocka_all.h"

static struct ip ip(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}

static size_t build(const char *source, const char *destination, enum protocol protocol,
                    uint8_t *buffer)
{
    const struct nat_packet packet = {
        .source = ip(source),
        .destination = ip(destination),
        .source_port = 50000,
        .destination_port = 80,
        .protocol = protocol,
    };
    memset(buffer, 0xee, NAT_PACKET_MAX);
    return nat_packet_build(&packet, buffer);
}

/* As a receiver does it: all words and the pseudo header add up to ones. */
static void assert_sums_up(const uint8_t *pseudo, size_t pseudo_size, uint32_t sum,
                           const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < pseudo_size; i += 2)
        sum += (uint32_t)(pseudo[i] << 8 | pseudo[i + 1]);
    for (size_t i = 0; i < size; i += 2)
        sum += (uint32_t)(data[i] << 8 | data[i + 1]);
    sum = (sum & 0xffff) + (sum >> 16);
    assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
}

static void test_tcp_over_ipv4(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0,    0,    0,   0, 0, 0x08, 0,    0x45, 0,    0,
        40,   0,    0,    0x40, 0,    64,   6, 0xf3, 0x0b, 192, 0, 2, 9,    10,   96,   0,    10,
        0xc3, 0x50, 0,    80,   0,    0,    0, 0,    0,    0,   0, 0, 0x50, 0x02, 0xfa, 0xf0,
    };
    uint8_t buffer[NAT_PACKET_MAX];

    assert_int_equal(build("192.0.2.9", "10.96.0.10", PROTOCOL_TCP, buffer), 14 + 40);
    assert_memory_equal(buffer, expected, 24);
    assert_memory_equal(buffer + 26, expected + 26, sizeof(expected) - 26);
    assert_sums_up(buffer, 0, 0, buffer + 14, 20);
    assert_sums_up(buffer + 26, 8, 6 + 20, buffer + 34, 20);
    assert_int_equal(buffer[14 + 40 - 2] | buffer[14 + 40 - 1], 0); /* no urgent pointer */
}

static void test_answer_of_tcp(void **state)
{
    (void)state;
    const struct nat_packet packet = {
        .source = ip("10.224.0.1"),
        .destination = ip("192.0.2.9"),
        .source_port = 8080,
        .destination_port = 50001,
        .protocol = PROTOCOL_TCP,
        .sequence = 0x01020304,
        .answered = 0xfffffffe,
    };
    uint8_t buffer[NAT_PACKET_MAX];

    assert_int_equal(nat_packet_build(&packet, buffer), 14 + 40);
    assert_memory_equal(buffer + 38,
                        ((const uint8_t[]){ 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff, 0x50, 0x12 }), 10);
    assert_sums_up(buffer + 26, 8, 6 + 20, buffer + 34, 20);
}

static void test_udp_over_ipv4(void **state)
{
    (void)state;
    uint8_t buffer[NAT_PACKET_MAX];

    assert_int_equal(build("192.0.2.9", "10.96.0.10", PROTOCOL_UDP, buffer), 14 + 28);
    assert_int_equal(buffer[14 + 3], 28);
    assert_int_equal(buffer[14 + 9], 17);
    assert_memory_equal(buffer + 34, ((const uint8_t[]){ 0xc3, 0x50, 0, 80, 0, 8 }), 6);
    assert_sums_up(buffer, 0, 0, buffer + 14, 20);
    assert_sums_up(buffer + 26, 8, 17 + 8, buffer + 34, 8);
}

static void test_ipv6(void **state)
{
    (void)state;
    static const struct {
        enum protocol protocol;
        size_t size;
    } cases[] = { { PROTOCOL_TCP, 20 }, { PROTOCOL_UDP, 8 } };
    uint8_t buffer[NAT_PACKET_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const uint8_t expected[] = {
            0x86, 0xdd, 0x60, 0, 0, 0, 0, (uint8_t)cases[i].size, (uint8_t)cases[i].protocol, 64,
        };
        size_t length = build("2001:db8::9", "fd00::10", cases[i].protocol, buffer);
        assert_int_equal(length, 14 + 40 + cases[i].size);
        assert_memory_equal(buffer + 12, expected, sizeof(expected));
        assert_memory_equal(buffer + 22, ip("2001:db8::9").bytes, 16);
        assert_memory_equal(buffer + 38, ip("fd00::10").bytes, 16);
        assert_sums_up(buffer + 22, 32, (uint32_t)(cases[i].protocol + cases[i].size), buffer + 54,
                       cases[i].size);
    }
}

/* Found by trying: the sum of this datagram is zero, which must not be written. */
static void test_a_udp_checksum_of_zero_is_ones(void **state)
{
    (void)state;
    uint8_t buffer[NAT_PACKET_MAX];
    struct nat_packet packet = {
        .source = ip("10.0.0.1"),
        .destination = ip("10.0.0.2"),
        .destination_port = 80,
        .protocol = PROTOCOL_UDP,
    };
    unsigned ones = 0;

    for (unsigned port = 0; port <= UINT16_MAX; port++) {
        packet.source_port = (uint16_t)port;
        assert_int_equal(nat_packet_build(&packet, buffer), 14 + 28);
        assert_false(buffer[40] == 0 && buffer[41] == 0);
        ones += buffer[40] == 0xff && buffer[41] == 0xff;
    }
    assert_int_equal(ones, 1);
}

static void test_sctp_has_its_ports(void **state)
{
    (void)state;
    uint8_t buffer[NAT_PACKET_MAX];

    assert_int_equal(build("192.0.2.9", "10.96.0.10", PROTOCOL_SCTP, buffer), 14 + 32);
    assert_int_equal(buffer[14 + 9], 132);
    assert_memory_equal(buffer + 34, ((const uint8_t[12]){ 0xc3, 0x50, 0, 80 }), 12);
}

static void test_ping(void **state)
{
    (void)state;
    uint8_t buffer[NAT_PACKET_MAX];

    assert_int_equal(build("192.0.2.9", "10.96.0.10", PROTOCOL_ICMP, buffer), 14 + 28);
    assert_int_equal(buffer[14 + 9], 1);
    assert_int_equal(buffer[34], 8);
    assert_memory_equal(buffer + 38, ((const uint8_t[4]){ 0xc3, 0x50 }), 4);
    assert_sums_up(buffer, 0, 0, buffer + 34, 8);

    assert_int_equal(build("2001:db8::9", "fd00::10", PROTOCOL_ICMP, buffer), 14 + 48);
    assert_int_equal(buffer[14 + 6], 58);
    assert_int_equal(buffer[54], 128);
    assert_sums_up(buffer + 22, 32, 58 + 8, buffer + 54, 8);
}

static void test_two_families_are_no_packet(void **state)
{
    (void)state;
    uint8_t buffer[NAT_PACKET_MAX];
    const struct nat_packet none = { .protocol = PROTOCOL_TCP };

    assert_int_equal(build("192.0.2.9", "fd00::10", PROTOCOL_TCP, buffer), 0);
    assert_int_equal(build("fd00::10", "192.0.2.9", PROTOCOL_TCP, buffer), 0);
    assert_int_equal(nat_packet_build(&none, buffer), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tcp_over_ipv4),
        cmocka_unit_test(test_answer_of_tcp),
        cmocka_unit_test(test_udp_over_ipv4),
        cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_a_udp_checksum_of_zero_is_ones),
        cmocka_unit_test(test_sctp_has_its_ports),
        cmocka_unit_test(test_ping),
        cmocka_unit_test(test_two_families_are_no_packet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
