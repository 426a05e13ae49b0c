// SPDX-License-Identifier: Apache-2.0
/* The section egress: defaults, each key, and each error at its place. */
#include "loading.h"

static void egress_may_be_silent(void **state)
{
    (void)state;
    CLEANUP(config_freep)
    struct config *config = load_good(SOURCE "egress: {enabled: true, gateway: {}}\n");
    assert_true(config->egress.enabled && config->egress.gateway.enabled);
    assert_int_equal(config->egress.gateway.serves.count, 0);
    assert_int_equal(config->egress.gateway.addresses.count, 0);
    assert_int_equal(config->egress.gateway.ports.first, 1024);
    assert_int_equal(config->egress.gateway.ports.last, 65535);
    assert_int_equal(config->egress.gateway.port_block, 64);
    assert_int_equal(config->egress.gateway.blocks_per_client, 16);
    assert_int_equal(config->egress.gateway.drain_ms, 60000);
    assert_int_equal(config->egress.gateway.timeouts.tcp_opening_ms, 60000);
    assert_int_equal(config->egress.gateway.icmp_ms, 30000);
    CLEANUP(config_freep) struct config *none = load_good(SOURCE "egress: {gateway: null}\n");
    assert_false(none->egress.gateway.enabled);
}

static void every_key_of_egress_is_read(void **state)
{
    (void)state;
    char ip[IP_STRLEN];
    CLEANUP(config_freep)
    struct config *config =
        load_good(SOURCE "egress:\n  inCluster: [10.8.0.0/14]\n  unknownPods: hold\n  port: 6666\n"
                         "  gateway:\n    serves: [internet/nat, lab/a.b]\n"
                         "    addresses: [192.0.2.1, '2001:db8::1']\n    ports: 2000-2063\n"
                         "    portBlock: 8\n    blocksPerClient: 2\n    drain: 5s\n"
                         "    timeouts: {tcpEstablished: 3h, udpStream: 90s, icmp: 5s}\n");
    assert_false(config->egress.enabled);
    assert_prefixes(&config->egress.in_cluster, 1, "10.8.0.0/14");
    assert_int_equal(config->egress.unknown_pods, UNKNOWN_PODS_HOLD);
    assert_int_equal(config->egress.port, 6666);
    assert_int_equal(config->egress.gateway.serves.count, 2);
    assert_string_equal(config->egress.gateway.serves.items[1], "lab/a.b");
    assert_int_equal(config->egress.gateway.addresses.count, 2);
    assert_string_equal(ip_str(&config->egress.gateway.addresses.items[1], ip), "2001:db8::1");
    assert_int_equal(config->egress.gateway.ports.last, 2063);
    assert_int_equal(config->egress.gateway.port_block, 8);
    assert_int_equal(config->egress.gateway.blocks_per_client, 2);
    assert_int_equal(config->egress.gateway.drain_ms, 5000);
    assert_int_equal(config->egress.gateway.timeouts.tcp_established_ms, 3 * 3600000);
    assert_int_equal(config->egress.gateway.timeouts.udp_stream_ms, 90000);
    assert_int_equal(config->egress.gateway.icmp_ms, 5000);
    assert_int_equal(config->services.timeouts.udp_stream_ms, 120000);
}

static void routes_may_be_off(void **state)
{
    (void)state;
    CLEANUP(config_freep)
    struct config *config = load_good(SOURCE "routes: {enabled: false}\n");
    assert_false(config->routes.enabled);
    assert_errors(
        SOURCE "routes: {enabled: false}\nservices: {enabled: true}\n",
        "2:19: routes.enabled: services.enabled needs routes, which lead to what this node serves\n");
}

static void egress_is_checked(void **state)
{
    (void)state;
    assert_errors(SOURCE "egress:\n"
                         "  unknownPods: drop\n"
                         "  port: 0\n"
                         "  gateway:\n"
                         "    serves: [nat, a/, /b, a/b/c, A/b]\n"
                         "    addresses: [10.0.0.0/8, 127.0.0.1]\n"
                         "    portBlock: 4\n"
                         "    block: 4\n",
                  "3:16: egress.unknownPods: expected pass or hold, found \"drop\"\n"
                  "4:9: egress.port: 0 is out of range 1..65535\n"
                  "6:14: egress.gateway.serves[0]: expected NAMESPACE/NAME of an Egress, found "
                  "\"nat\"\n"
                  "6:19: egress.gateway.serves[1]: expected NAMESPACE/NAME of an Egress, found "
                  "\"a/\"\n"
                  "6:23: egress.gateway.serves[2]: expected NAMESPACE/NAME of an Egress, found "
                  "\"/b\"\n"
                  "6:27: egress.gateway.serves[3]: expected NAMESPACE/NAME of an Egress, found "
                  "\"a/b/c\"\n"
                  "6:34: egress.gateway.serves[4]: expected NAMESPACE/NAME of an Egress, found "
                  "\"A/b\"\n"
                  "7:17: egress.gateway.addresses[0]: expected an address of a host, such as "
                  "192.0.2.1, found \"10.0.0.0/8\"\n"
                  "7:29: egress.gateway.addresses[1]: expected an address of a host, such as "
                  "192.0.2.1, found \"127.0.0.1\"\n"
                  "8:16: egress.gateway.portBlock: 4 is out of range 8..4096\n"
                  "9:5: egress.gateway: unknown key \"block\"\n");
    assert_errors(SOURCE "egress: {gateway: {portBlock: 100}}\n",
                  "2:31: egress.gateway.portBlock: 100 is not a power of two\n");
    assert_errors(SOURCE "egress: {gateway: {ports: 2001-2100}}\n",
                  "2:27: egress.gateway.ports: no whole block of 64 ports in ports 2001-2100\n");
    assert_errors(SOURCE "egress: {gateway: {addresses: [192.0.2.1, 192.0.2.2, 192.0.2.3, "
                         "192.0.2.4, 192.0.2.5, 192.0.2.6, 192.0.2.7, 192.0.2.8, 192.0.2.9]}}\n",
                  "2:31: egress.gateway.addresses: more than 8 addresses of a family\n");
    CLEANUP(config_freep)
    struct config *one =
        load_good(SOURCE "egress: {gateway: {ports: 2001-2111}}\n"); /* 2048-2111 */
    assert_int_equal(one->egress.gateway.ports.first, 2001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(egress_may_be_silent),
        cmocka_unit_test(every_key_of_egress_is_read),
        cmocka_unit_test(routes_may_be_off),
        cmocka_unit_test(egress_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
