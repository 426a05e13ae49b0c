// SPDX-License-Identifier: Apache-2.0
/* The configuration: defaults, the documented example, and each error at its place. */
#include <ctype.h>

#include "loading.h"

static void assert_defaults(const struct config *config)
{
    char host[256] = "";
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    for (char *c = host; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    assert_string_equal(config->node, host);
    assert_string_equal(config->source.manifests, "/m");
    assert_int_equal(config->source.max_file_bytes, 268435456);
    assert_int_equal(config->source.start_wait_ms, 10000);
    assert_int_equal(config->routes.table, 119);
    assert_int_equal(config->routes.hold_initial_ms, 1000);
    assert_int_equal(config->routes.hold_max_ms, 60000);
    assert_int_equal(config->routes.drain_shutdown_ms, 10000);
    assert_int_equal(config->routes.drain_withdraw_ms, 20000);
    assert_int_equal(config->routes.deadman_ms, 0);
    assert_false(config->services.enabled);
    assert_int_equal(config->services.uplinks.count, 0);
    assert_int_equal(config->services.pod_interfaces.count, 0);
    assert_true(config->services.uplinks_auto && config->services.pod_interfaces_auto);
    assert_false(config->services.cluster_cidrs_set);
    assert_prefixes(&config->services.cluster_cidrs, 0, NULL);
    assert_prefixes(&config->services.service_cidrs, 0, NULL);
    assert_prefixes(&config->services.node_port_addresses, 0, NULL);
    assert_true(config->services.node_port_primary);
    assert_false(config->services.node_ports_set);
    assert_prefixes(&config->services.external_ips, 0, NULL);
    assert_prefixes(&config->services.load_balancer_ips, 0, NULL);
    assert_string_equal(config->services.load_balancer_class, "");
    assert_string_equal(config->services.proxy_name, "");
    assert_int_equal(config->services.advertise, ADVERTISE_LOAD_BALANCER | ADVERTISE_EXTERNAL);
    assert_false(config->services.masquerade_all);
    assert_int_equal(config->services.snat_ports.first, 10000);
    assert_int_equal(config->services.snat_ports.last, 65535);
    assert_int_equal(config->services.timeouts.tcp_established_ms, (2 * 60 + 4) * 60000);
    assert_int_equal(config->services.timeouts.udp_ms, 30000);
    assert_int_equal(config->services.max_flows, 262144);
    assert_int_equal(config->services.max_services, 65536);
    assert_int_equal(config->services.max_endpoints, 262144);
    assert_string_equal(config->services.healthz, "0.0.0.0:10256");
    assert_false(config->egress.enabled || config->egress.gateway.enabled);
    assert_int_equal(config->egress.unknown_pods, UNKNOWN_PODS_PASS);
    assert_int_equal(config->egress.port, 5555);
    assert_null(config->bird.socket);
    assert_string_equal(config->api.listen, "127.0.0.1:9394");
    assert_string_equal(config->paths.run, "/run/fingerpost");
    assert_string_equal(config->paths.state, "/var/lib/fingerpost");
    assert_string_equal(config->paths.bpf, "/sys/fs/bpf/fingerpost");
}

static void silence_means_the_defaults(void **state)
{
    (void)state;
    CLEANUP(config_freep) struct config *loaded = load_good(SOURCE);
    CLEANUP(config_freep) struct config *made = NULL;
    assert_int_equal(config_default("/m", &made), 0);
    assert_defaults(loaded);
    assert_defaults(made);
    /* Null keeps a default as well. */
    CLEANUP(config_freep)
    struct config *nulls =
        load_good(SOURCE "node:\nroutes:\nservices: {healthz: }\npaths: {run: ~}");
    assert_defaults(nulls);
}

static const char every_key[] =
    "node: node-1\n"
    "source:\n"
    "  manifests: /etc/fingerpost/manifests\n"
    "  maxFileSize: 64MiB\n"
    "  startWait: 3s\n"
    "routes:\n"
    "  table: 300\n"
    "  holdDown: { initial: 2s, max: 2m }\n"
    "  drain: { shutdown: 500ms, withdraw: 0 }\n"
    "  deadman: 1h30m\n"
    "services:\n"
    "  enabled: true\n"
    "  uplinks: [eth0, \"en*\"]\n"
    "  podInterfaces: [\"cali*\"]\n"
    "  clusterCIDRs: [10.244.0.0/16, \"fd00::/48\"]\n"
    "  serviceCIDRs: [10.96.0.0/12]\n"
    "  nodePortAddresses: [primary, 192.0.2.0/24]\n"
    "  externalIPs: [198.51.100.0/24]\n"
    "  loadBalancerIPs: [203.0.113.0/24]\n"
    "  loadBalancerClass: example.com/fingerpost\n"
    "  proxyName: fingerpost\n"
    "  advertise: [cluster, external]\n"
    "  masqueradeAll: true\n"
    "  snatPorts: 40000-40000\n"
    "  maps: { flows: 1024, services: 16, endpoints: 17 }\n"
    "  firewall: { mode: accept, mark: 0x40, scope: holder, nodePorts: true }\n"
    "  healthz: \"[::]:10256\"\n"
    "bird: { socket: /run/bird/bird.ctl }\n"
    "api: { listen: \"127.0.0.2:9395\" }\n"
    "paths: { run: /r, state: /s, bpf: /b }\n";

static void every_key_is_read(void **state)
{
    (void)state;
    CLEANUP(config_freep) struct config *config = load_good(every_key);
    assert_string_equal(config->node, "node-1");
    assert_string_equal(config->source.manifests, "/etc/fingerpost/manifests");
    assert_int_equal(config->source.max_file_bytes, 64 << 20);
    assert_int_equal(config->source.start_wait_ms, 3000);
    assert_int_equal(config->routes.table, 300);
    assert_int_equal(config->routes.hold_initial_ms, 2000);
    assert_int_equal(config->routes.hold_max_ms, 120000);
    assert_int_equal(config->routes.drain_shutdown_ms, 500);
    assert_int_equal(config->routes.drain_withdraw_ms, 0);
    assert_int_equal(config->routes.deadman_ms, 90 * 60000);
    assert_true(config->services.enabled);
    assert_false(config->services.uplinks_auto || config->services.pod_interfaces_auto);
    assert_int_equal(config->services.uplinks.count, 2);
    assert_string_equal(config->services.uplinks.items[1], "en*");
    assert_int_equal(config->services.pod_interfaces.count, 1);
    assert_string_equal(config->services.pod_interfaces.items[0], "cali*");
    assert_true(config->services.cluster_cidrs_set);
    assert_prefixes(&config->services.cluster_cidrs, 2, "10.244.0.0/16");
    assert_prefixes(&config->services.service_cidrs, 1, "10.96.0.0/12");
    assert_prefixes(&config->services.node_port_addresses, 1, "192.0.2.0/24");
    assert_true(config->services.node_port_primary);
    assert_true(config->services.node_ports_set);
    assert_prefixes(&config->services.external_ips, 1, "198.51.100.0/24");
    assert_prefixes(&config->services.load_balancer_ips, 1, "203.0.113.0/24");
    assert_string_equal(config->services.load_balancer_class, "example.com/fingerpost");
    assert_string_equal(config->services.proxy_name, "fingerpost");
    assert_int_equal(config->services.advertise, ADVERTISE_CLUSTER | ADVERTISE_EXTERNAL);
    assert_true(config->services.masquerade_all);
    assert_int_equal(config->services.snat_ports.first, 40000);
    assert_int_equal(config->services.snat_ports.last, 40000);
    assert_int_equal(config->services.max_flows, 1024);
    assert_int_equal(config->services.max_services, 16);
    assert_int_equal(config->services.max_endpoints, 17);
    assert_int_equal(config->services.firewall.mode, FIREWALL_ACCEPT);
    assert_int_equal(config->services.firewall.mark, 0x40);
    assert_int_equal(config->services.firewall.scope, FIREWALL_HOLDER);
    assert_true(config->services.firewall.node_ports);
    assert_string_equal(config->services.healthz, "[::]:10256");
    assert_string_equal(config->bird.socket, "/run/bird/bird.ctl");
    assert_string_equal(config->api.listen, "127.0.0.2:9395");
    assert_string_equal(config->paths.run, "/r");
    assert_string_equal(config->paths.state, "/s");
    assert_string_equal(config->paths.bpf, "/b");
}

static void lists_and_words(void **state)
{
    (void)state;
    CLEANUP(config_freep)
    struct config *config =
        load_good(SOURCE "routes: {deadman: off}\nservices:\n  clusterCIDRs: []\n"
                         "  podInterfaces: []\n  nodePortAddresses: [10.0.0.0/8]\n"
                         "  advertise: []\n");
    assert_int_equal(config->routes.deadman_ms, 0);
    assert_true(config->services.cluster_cidrs_set);
    assert_int_equal(config->services.pod_interfaces.count, 0);
    assert_false(config->services.node_port_primary);
    assert_true(config->services.node_ports_set);
    assert_int_equal(config->services.advertise, 0);
    CLEANUP(config_freep)
    struct config *empty = load_good(SOURCE "services: {nodePortAddresses: []}\n");
    assert_true(empty->services.node_port_primary);
    assert_false(empty->services.node_ports_set);
    CLEANUP(config_freep)
    struct config *primary = load_good(SOURCE "services: {nodePortAddresses: [primary]}\n");
    assert_true(primary->services.node_port_primary);
    assert_true(primary->services.node_ports_set);
}

static void sizes_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = { { "1", 1 },
                  { "4KiB", 4096 },
                  { "3MiB", 3 << 20 },
                  { "2GiB", UINT64_C(2) << 30 },
                  { "\"7\"", 7 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFREE char *text =
            text_format("source: {manifests: /m, maxFileSize: %s}", cases[i].text);
        CLEANUP(config_freep) struct config *config = load_good(text);
        assert_int_equal(config->source.max_file_bytes, cases[i].bytes);
    }
}

static void a_source_is_needed(void **state)
{
    (void)state;
    const char *missing = "1:1: source is missing: it says where the objects come from\n";
    assert_errors("", missing);
    assert_errors("# nothing\n---\n", missing);
    assert_errors("source:\n", missing);
    assert_errors("node: a\n", missing);
    assert_errors("source: {}\n",
                  "1:9: source: manifests or kubernetes is missing: where the objects come from\n");
    assert_errors("source:\n  kubernetes:\n",
                  "2:3: source: manifests or kubernetes is missing: where the objects come from\n");
    assert_errors("source:\n  manifests: /m\n  kubernetes: {kubeconfig: /k}\n",
                  "3:3: source: exactly one of manifests and kubernetes is allowed\n");
    assert_errors("source: {manifests: m/n}\n",
                  "1:21: source.manifests: expected an absolute path, found \"m/n\"\n");
}

static void kubernetes_is_a_source(void **state)
{
    (void)state;
    CLEANUP(config_freep) struct config *config = load_good("source: {kubernetes: {}}");
    assert_true(config->source.kubernetes);
    assert_null(config->source.kubeconfig);
    assert_null(config->source.manifests);

    CLEANUP(config_freep)
    struct config *other = load_good("source: {kubernetes: {kubeconfig: /etc/k}}");
    assert_true(other->source.kubernetes);
    assert_string_equal(other->source.kubeconfig, "/etc/k");

    assert_errors("source: {kubernetes: {kubeconfig: k}}",
                  "1:35: source.kubernetes.kubeconfig: expected an absolute path, found \"k\"\n");
    assert_errors("source: {kubernetes: {kubconfig: /k}}",
                  "1:23: source.kubernetes: unknown key \"kubconfig\"; did you mean "
                  "\"kubeconfig\"?\n");
    assert_errors("source: {kubernetes: /etc/k}",
                  "1:22: source.kubernetes: expected a map, found a plain value\n");
}

static void keys_are_known(void **state)
{
    (void)state;
    assert_errors(SOURCE "rotes:\n  table: 1\n",
                  "2:1: unknown key \"rotes\"; did you mean \"routes\"?\n");
    assert_errors(SOURCE "nods: 1\n", "2:1: unknown key \"nods\"; did you mean \"node\"?\n");
    assert_errors(SOURCE "services:\n  masqueradeall: true\n",
                  "3:3: services: unknown key \"masqueradeall\"; did you mean "
                  "\"masqueradeAll\"?\n");
    assert_errors(SOURCE "routes: {holdDown: {inital: 1s}}\n",
                  "2:21: routes.holdDown: unknown key \"inital\"; did you mean \"initial\"?\n");
    assert_errors(SOURCE "x: 1\n", "2:1: unknown key \"x\"\n");
    assert_errors(SOURCE "services: {timeouts: {tcp: 3m}}\n",
                  "2:23: services.timeouts: unknown key \"tcp\"\n");
}

static void types_are_checked(void **state)
{
    (void)state;
    assert_errors("- a\n", "1:1: expected a map, found a list\n");
    assert_errors("text\n", "1:1: expected a map, found a plain value\n");
    assert_errors(SOURCE "routes: 5\n", "2:9: routes: expected a map, found a plain value\n");
    assert_errors(SOURCE "services: {enabled: on}\n",
                  "2:21: services.enabled: expected true or false, found \"on\"\n");
    assert_errors(
        SOURCE "services: {firewall: {mode: drop, mark: 0, scope: \"\"}}\n",
        "2:29: services.firewall.mode: expected off, mark or accept, found \"drop\"\n"
        "2:41: services.firewall.mark: expected a mark from 0x1 to 0xffffffff, found \"0\"\n"
        "2:51: services.firewall.scope: expected all or holder, found \"\"\n");
    assert_errors(SOURCE "services: {path: direct, firewall: {mode: mark, mark: 0x100000000}}\n",
                  "2:55: services.firewall.mark: expected a mark from 0x1 to 0xffffffff, found "
                  "\"0x100000000\"\n"
                  "2:18: services.path: direct leads packets past every firewall: "
                  "services.firewall wants auto or stack\n");
    assert_errors(SOURCE "services: {masqueradeAll: \"true\"}\n",
                  "2:27: services.masqueradeAll: expected true or false, found the string "
                  "\"true\"\n");
    assert_errors(SOURCE "services: {uplinks: eth0}\n",
                  "2:21: services.uplinks: expected a list, found a plain value\n");
    assert_errors(SOURCE "services: {uplinks: [eth0, [x], \"\", a/b]}\n",
                  "2:28: services.uplinks[1]: expected a single value, found a list\n"
                  "2:33: services.uplinks[2]: expected the name of an interface, or a pattern "
                  "such as \"veth*\"\n"
                  "2:37: services.uplinks[3]: expected the name of an interface, or a pattern "
                  "such as \"veth*\"\n");
    assert_errors(SOURCE "node: Node_1\n",
                  "2:7: node: expected a node's name (a-z, 0-9, dots and dashes), found "
                  "\"Node_1\"\n");
    assert_errors(SOURCE "bird: {socket: bird.ctl}\n",
                  "2:16: bird.socket: expected an absolute path, found \"bird.ctl\"\n");
}

static void numbers_are_bounded(void **state)
{
    (void)state;
    assert_errors(SOURCE "services: {maps: {flows: 1023, services: 1e3, endpoints: 99999999}}\n",
                  "2:26: services.maps.flows: 1023 is out of range 1024..16777216\n"
                  "2:42: services.maps.services: expected a whole number, found \"1e3\"\n"
                  "2:58: services.maps.endpoints: 99999999 is out of range 16..16777215\n");
    assert_errors("source:\n  manifests: /m\n  maxFileSize: 10MB\n",
                  "3:16: source.maxFileSize: expected a number of bytes, such as 1048576 or 64MiB, "
                  "found \"10MB\"\n");
    assert_errors("source: {manifests: /m, maxFileSize: 0}\n",
                  "1:38: source.maxFileSize: \"0\" is out of range: 1..1099511627776 bytes\n");
    assert_errors("source: {manifests: /m, maxFileSize: 17179869184GiB}\n",
                  "1:38: source.maxFileSize: \"17179869184GiB\" is out of range: "
                  "1..1099511627776 bytes\n");
}

static void tables_of_others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *table, *message;
    } cases[] = {
        { "0", "0 is out of range 1..4294967295" },
        { "4294967296", "4294967296 is out of range 1..4294967295" },
        { "116", "table 116 can't be used: it holds the pods of this node" },
        { "117", "table 117 can't be used: it is used inside egress pods and gateways" },
        { "118", "table 118 can't be used: it is used inside egress pods and gateways" },
        { "120", "table 120 can't be used: it guards the service addresses of this node" },
        { "253", "table 253 can't be used: it is the kernel's own (default, main, local)" },
        { "254", "table 254 can't be used: it is the kernel's own (default, main, local)" },
        { "255", "table 255 can't be used: it is the kernel's own (default, main, local)" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFREE char *text = text_format(SOURCE "routes: {table: %s}\n", cases[i].table);
        AUTOFREE char *expected = text_format("2:17: routes.table: %s\n", cases[i].message);
        assert_errors(text, expected);
    }
    CLEANUP(config_freep) struct config *low = load_good(SOURCE "routes: {table: 1}\n");
    CLEANUP(config_freep) struct config *high = load_good(SOURCE "routes: {table: 4294967295}\n");
    assert_int_equal(low->routes.table, 1);
    assert_int_equal(high->routes.table, UINT32_MAX);
}

static void durations_are_checked(void **state)
{
    (void)state;
    assert_errors(SOURCE "routes: {deadman: no, drain: {shutdown: 10, withdraw: 9000h}}\n",
                  "2:19: routes.deadman: expected a duration, such as 250ms, 10s or 1m30s, found "
                  "\"no\"\n"
                  "2:41: routes.drain.shutdown: expected a duration, such as 250ms, 10s or 1m30s, "
                  "found \"10\"\n"
                  "2:55: routes.drain.withdraw: \"9000h\" is longer than a year\n");
    assert_errors(SOURCE "routes:\n  holdDown:\n    initial: 2m\n",
                  "4:14: routes.holdDown.initial: initial (2m) is longer than max (1m)\n");
    assert_errors(SOURCE "services: {timeouts: {tcpEstablished: 2h}}\n",
                  "2:39: services.timeouts.tcpEstablished: \"2h\" is shorter than 2h 4m\n");
    assert_errors(SOURCE "routes:\n  holdDown:\n    max: 500ms\n",
                  "4:10: routes.holdDown.max: initial (1s) is longer than max (500ms)\n");
}

static void addresses_are_checked(void **state)
{
    (void)state;
    assert_errors(SOURCE "services: {clusterCIDRs: [10.0.0.0/33, 10.0.0.1, ok]}\n",
                  "2:27: services.clusterCIDRs[0]: expected a CIDR, such as 10.0.0.0/8, found "
                  "\"10.0.0.0/33\"\n"
                  "2:40: services.clusterCIDRs[1]: expected a CIDR, such as 10.0.0.1/32 for "
                  "this address alone, found \"10.0.0.1\"\n"
                  "2:50: services.clusterCIDRs[2]: expected a CIDR, such as 10.0.0.0/8, found "
                  "\"ok\"\n");
    assert_errors(
        SOURCE "services: {loadBalancerIPs: [203.0.113.10/24]}\n",
        "2:30: services.loadBalancerIPs[0]: \"203.0.113.10/24\" has bits beyond its length: write "
        "203.0.113.0/24 for the network, or /32 for this address alone\n");
    assert_errors(SOURCE "services: {nodePortAddresses: [second], advertise: [loadbalancer]}\n",
                  "2:32: services.nodePortAddresses[0]: expected a CIDR, such as 10.0.0.0/8, "
                  "found \"second\"\n"
                  "2:53: services.advertise[0]: expected loadBalancer, external or cluster, found "
                  "\"loadbalancer\"\n");
    static const char *const bad[] = { "localhost:80", ":80",           "1.2.3.4",   "1.2.3.4:",
                                       "1.2.3.4:0",    "1.2.3.4:x",     "::1:80",    "[1.2.3.4]:80",
                                       "[::1]80",      "1.2.3.4:65536", "1.2.3.4:+1" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        AUTOFREE char *text = text_format(SOURCE "api:\n  listen: \"%s\"\n", bad[i]);
        AUTOFREE char *expected =
            text_format("3:11: api.listen: expected address:port, such as \"127.0.0.1:9394\" or "
                        "\"[::1]:9394\", found \"%s\"\n",
                        bad[i]);
        assert_errors(text, expected);
    }
}

static void port_ranges_are_checked(void **state)
{
    (void)state;
    assert_errors(SOURCE "services: {snatPorts: 30000-20000}\n",
                  "2:23: services.snatPorts: the range \"30000-20000\" ends before it begins\n");
    static const char *const bad[] = { "20000", "0-1", "1-65536", "a-b", "1-2-3", "-1", "1-", "" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        AUTOFREE char *text = text_format(SOURCE "services: {snatPorts: \"%s\"}\n", bad[i]);
        AUTOFREE char *expected =
            text_format("2:23: services.snatPorts: expected a range of ports, such as 10000-65535, "
                        "found \"%s\"\n",
                        bad[i]);
        assert_errors(text, expected);
    }
}

static void all_errors_come_at_once(void **state)
{
    (void)state;
    assert_errors("node: \"\"\n"
                  "services:\n"
                  "  enabled: yes\n"
                  "  maps:\n"
                  "    flow: 5\n"
                  "    services: 1\n"
                  "sorce:\n"
                  "  manifests: /m\n"
                  "routes:\n"
                  "  holdDown: {initial: 5, max: 1s}\n"
                  "  table: 120\n",
                  "1:1: source is missing: it says where the objects come from\n"
                  "1:7: node: expected a node's name (a-z, 0-9, dots and dashes), found \"\"\n"
                  "3:12: services.enabled: expected true or false, found \"yes\"\n"
                  "5:5: services.maps: unknown key \"flow\"; did you mean \"flows\"?\n"
                  "6:15: services.maps.services: 1 is out of range 16..1048576\n"
                  "7:1: unknown key \"sorce\"; did you mean \"source\"?\n"
                  "10:23: routes.holdDown.initial: expected a duration, such as 250ms, 10s or "
                  "1m30s, found \"5\"\n"
                  "11:10: routes.table: table 120 can't be used: it guards the service addresses "
                  "of this node\n");
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    assert_errors("node: [\n",
                  "2:1: did not find expected node content while parsing a flow node\n");
    assert_errors(SOURCE "node: a\nnode: b\n", "3:1: the key \"node\" is here twice\n");
    assert_errors(SOURCE "---\nnode: b\n", "3:1: more than one document\n");

    AUTOFAULTS struct faults errors = { 0 };
    struct config *config = NULL;
    assert_int_equal(config_load("/nowhere/agentd.yaml", &config, &errors), -ENOENT);
    assert_int_equal(errors.list.count, 1);
    assert_string_equal(errors.list.items[0].place, "/nowhere/agentd.yaml");
    assert_null(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_means_the_defaults),
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(lists_and_words),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(a_source_is_needed),
        cmocka_unit_test(kubernetes_is_a_source),
        cmocka_unit_test(keys_are_known),
        cmocka_unit_test(types_are_checked),
        cmocka_unit_test(numbers_are_bounded),
        cmocka_unit_test(tables_of_others_are_refused),
        cmocka_unit_test(durations_are_checked),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(port_ranges_are_checked),
        cmocka_unit_test(all_errors_come_at_once),
        cmocka_unit_test(broken_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
