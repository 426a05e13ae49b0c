// SPDX-License-Identifier: Apache-2.0
/* Addresses, prefixes, ports, protocols: what is accepted, how it is normalised, printed, ordered.
 */
#include <errno.h>

#include "base/macro.h"
#include "base/net/ip.h"
#include "base/net/protocol.h"
#include "cmocka_all.h"

static void accepts_and_normalises(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        { "10.0.0.1", "10.0.0.1" },
        { "010.001.02.3", "10.1.2.3" },
        { "2001:DB8:0:0::1", "2001:db8::1" },
        { "::ffff:192.0.2.1", "192.0.2.1" },
        { "::", "::" },
        { "0.0.0.0", "0.0.0.0" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ip ip;
        char text[IP_STRLEN];
        assert_int_equal(ip_parse(cases[i].in, &ip), 0);
        assert_string_equal(ip_str(&ip, text), cases[i].out);
    }
}

static void refuses(void **state)
{
    (void)state;
    static const char *const bad[] = { "",         "1.2.3",    "1.2.3.4.5",    "256.1.1.1",
                                       "1.2.3.4 ", " 1.2.3.4", "fe80::1%eth0", "1.2.3.x",
                                       ":::",      "a.b.c.d",  "0x10.0.0.1",   "-1.0.0.0" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct ip ip = { .family = 99 };
        assert_int_equal(ip_parse(bad[i], &ip), -EINVAL);
        assert_int_equal(ip.family, 99);
    }
}

/* As Go has it, by which MetalLB reads. */
static void strictly_without_leading_zeros(void **state)
{
    (void)state;
    static const char *const bad[] = { "1.2.3.01", "01.2.3.4", "1.00.3.4", "1.2.3", "1.2.3.4%e" };
    static const char *const good[] = { "1.2.3.1", "0.0.0.0", "10.0.0.10", "2001:db8::01",
                                        "::ffff:1.2.3.4" };
    struct ip ip;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(ip_parse_strict(bad[i], &ip), -EINVAL);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_int_equal(ip_parse_strict(good[i], &ip), 0);
}

static void prefixes(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
        int r;
    } cases[] = {
        { "10.0.0.0/8", "10.0.0.0/8", 0 },   { "10.1.2.3/8", "10.0.0.0/8", 1 },
        { "0.0.0.0/0", "0.0.0.0/0", 0 },     { "255.255.255.255/0", "0.0.0.0/0", 1 },
        { "fd00::1/64", "fd00::/64", 1 },    { "fd00::/123", "fd00::/123", 0 },
        { "10.0.0.1/32", "10.0.0.1/32", 0 }, { "10.0.0.7/30", "10.0.0.4/30", 1 },
        { "10.0.0.0/33", NULL, -EINVAL },    { "10.0.0.0", NULL, -EINVAL },
        { "10.0.0.0/", NULL, -EINVAL },      { "10.0.0.0/-1", NULL, -EINVAL },
        { "10.0.0.0/8x", NULL, -EINVAL },    { "/8", NULL, -EINVAL },
        { "10.0.0.0/ 8", NULL, -EINVAL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct prefix prefix;
        char text[PREFIX_STRLEN];
        assert_int_equal(prefix_parse(cases[i].in, &prefix), cases[i].r);
        if (cases[i].out)
            assert_string_equal(prefix_str(&prefix, text), cases[i].out);
    }
}

static bool contains(const char *prefix_text, const char *ip_text)
{
    struct prefix prefix;
    struct ip ip;
    assert_true(prefix_parse(prefix_text, &prefix) >= 0);
    assert_int_equal(ip_parse(ip_text, &ip), 0);
    return prefix_contains(&prefix, &ip);
}

static void containment(void **state)
{
    (void)state;
    assert_true(contains("10.0.0.0/8", "10.255.0.1"));
    assert_false(contains("10.0.0.0/8", "11.0.0.0"));
    assert_true(contains("0.0.0.0/0", "1.2.3.4"));
    assert_false(contains("0.0.0.0/0", "::1"));
    assert_true(contains("fd00::/127", "fd00::1"));
    assert_false(contains("fd00::/127", "fd00::2"));
    assert_true(contains("10.0.0.5/32", "10.0.0.5"));
}

static void networks(void **state)
{
    (void)state;
    static const struct {
        const char *ip;
        uint8_t length;
        const char *network;
    } cases[] = {
        { "10.1.2.3", 0, "0.0.0.0/0" },          { "10.1.2.3", 9, "10.0.0.0/9" },
        { "10.1.2.3", 32, "10.1.2.3/32" },       { "fd00::ffff", 120, "fd00::ff00/120" },
        { "fd00::ffff", 128, "fd00::ffff/128" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ip ip;
        char text[PREFIX_STRLEN];
        assert_int_equal(ip_parse(cases[i].ip, &ip), 0);
        const struct prefix network = ip_network(&ip, cases[i].length);
        assert_string_equal(prefix_str(&network, text), cases[i].network);
    }
}

static bool special(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip_is_special(&ip);
}

static void special_addresses(void **state)
{
    (void)state;
    assert_true(special("127.0.0.1"));
    assert_true(special("0.0.0.0"));
    assert_true(special("169.254.1.1"));
    assert_true(special("224.0.0.5"));
    assert_true(special("255.255.255.255"));
    assert_true(special("::1"));
    assert_true(special("fe80::1"));
    assert_true(special("ff02::1"));
    assert_false(special("10.0.0.1"));
    assert_false(special("2001:db8::1"));
}

static void order(void **state)
{
    (void)state;
    static const char *const sorted[] = { "9.0.0.0/8", "10.0.0.0/8", "10.0.0.0/9", "::/0",
                                          "fd00::/8" };
    for (size_t i = 0; i + 1 < ARRAY_SIZE(sorted); i++) {
        struct prefix a, b;
        assert_int_equal(prefix_parse(sorted[i], &a), 0);
        assert_int_equal(prefix_parse(sorted[i + 1], &b), 0);
        assert_true(prefix_cmp(&a, &b) < 0);
        assert_true(prefix_cmp(&b, &a) > 0);
        assert_int_equal(prefix_cmp(&a, &a), 0);
    }
}

static void lists_become_sets(void **state)
{
    (void)state;
    static const char *const texts[] = { "::1", "10.0.0.2", "10.0.0.1", "::1", "10.0.0.2", "::1" };
    static const char *const expected[] = { "10.0.0.1", "10.0.0.2", "::1" };
    ip_list list = { 0 };
    char buffer[IP_STRLEN];
    ip_list_unite(&list);
    assert_int_equal(list.count, 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct ip ip;
        assert_int_equal(ip_parse(texts[i], &ip), 0);
        assert_int_equal(vec_push(&list, ip), 0);
    }
    ip_list_unite(&list);
    assert_int_equal(list.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(ip_str(&list.items[i], buffer), expected[i]);
    vec_done(&list);
}

static void addresses_with_ports(void **state)
{
    (void)state;
    static const struct {
        const char *string, *address;
        uint16_t port;
    } good[] = {
        { "10.0.0.1", "10.0.0.1", 0 },
        { "10.0.0.1:80", "10.0.0.1", 80 },
        { "fd00::1", "fd00::1", 0 },
        { "[fd00::1]", "fd00::1", 0 },
        { "[fd00::1]:65535", "fd00::1", 65535 },
        { "fd00::1:80", "fd00::1:80", 0 },
        { "[::ffff:10.0.0.1]:080", "10.0.0.1", 80 },
    };
    static const char *const bad[] = {
        "",
        ":80",
        "10.0.0.1:",
        "10.0.0.1:0",
        "10.0.0.1:65536",
        "[fd00::1",
        "[fd00::1]80",
        "[fd00::1]:",
        "[10.0.0.1]:80",
        "10.0.0.1:80/TCP",
        "[]:80",
        "10.0.0.1: 80",
        "10.0.0.1:http",
        "[[fd00::1]]:80",
        "10.0.0.1:4294967376",
        "web:80",
        "10.0.0.1:-1",
        "fd00::1]:80",
        "[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]:80",
    };
    struct ip ip = { 0 };
    uint16_t port = 7;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(ip_port_parse(bad[i], &ip, &port), -EINVAL);
    assert_true(ip.family == IP_NONE && port == 7);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        char buffer[IP_STRLEN];
        assert_int_equal(ip_port_parse(good[i].string, &ip, &port), 0);
        assert_string_equal(ip_str(&ip, buffer), good[i].address);
        assert_int_equal(port, good[i].port);
    }
}

static void protocols(void **state)
{
    (void)state;
    enum protocol protocol = 0;

    assert_int_equal(protocol_parse("TCP", &protocol), 0);
    assert_int_equal(protocol, PROTOCOL_TCP);
    assert_int_equal(protocol_parse("udp", &protocol), 0);
    assert_int_equal(protocol, PROTOCOL_UDP);
    assert_int_equal(protocol_parse("Sctp", &protocol), 0);
    assert_int_equal(protocol_parse("", &protocol), -EINVAL);
    assert_int_equal(protocol_parse("ICMP", &protocol), -EINVAL);
    assert_int_equal(protocol, PROTOCOL_SCTP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_and_normalises),
        cmocka_unit_test(refuses),
        cmocka_unit_test(strictly_without_leading_zeros),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(containment),
        cmocka_unit_test(networks),
        cmocka_unit_test(special_addresses),
        cmocka_unit_test(order),
        cmocka_unit_test(lists_become_sets),
        cmocka_unit_test(addresses_with_ports),
        cmocka_unit_test(protocols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
