// SPDX-License-Identifier: Apache-2.0
/* Coil's kinds: AddressPool, AddressBlock, BlockRequest, Egress, by the rules of Coil's webhooks
 * and schemas. */
#include "base/macro.h"
#include "base/text.h"
#include "decoded.h"
#include "model/address_block.h"
#include "model/block_request.h"
#include "model/egress.h"

#define COIL_HEAD(kind) "apiVersion: coil.cybozu.com/v2\nkind: " kind "\nmetadata: {name: x}\n"

static void assert_prefix(const struct prefix *prefix, const char *expected)
{
    char text[PREFIX_STRLEN];
    assert_string_equal(prefix_str(prefix, text), expected);
}

static void reads_a_block(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: coil.cybozu.com/v2\n"
                    "index: 3\n"
                    "ipv4: 10.224.0.96/27\n"
                    "ipv6: fd01:203:405:607::60/123\n"
                    "kind: AddressBlock\n"
                    "metadata:\n"
                    "  finalizers: [coil.cybozu.com]\n"
                    "  labels:\n"
                    "    coil.cybozu.com/node: node-1\n"
                    "    coil.cybozu.com/pool: default\n"
                    "    coil.cybozu.com/request: 7d4b7c0e-0000-4000-8000-000000000000\n"
                    "    coil.cybozu.com/reserved: \"true\"\n"
                    "  name: default-3\n");
    assert_decoded(&decoded, 0);
    const struct address_block *block = to_address_block(decoded.object);
    assert_int_equal(block->index, 3);
    assert_prefix(&block->ipv4, "10.224.0.96/27");
    assert_prefix(&block->ipv6, "fd01:203:405:607::60/123");
    assert_string_equal(block->pool, "default");
    assert_string_equal(block->node, "node-1");
    assert_string_equal(block->request, "7d4b7c0e-0000-4000-8000-000000000000");
    assert_string_equal(block->node_uid, "");
    assert_true(block->reserved);
}

static void a_block_of_one_family(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml(COIL_HEAD("AddressBlock") "index: 0\nipv4: 10.224.0.97/27\nipv6: null\n");
    assert_decoded(&decoded, 1);
    assert_fault(&decoded.warnings, "test:5:7", "read as 10.224.0.96/27");
    const struct address_block *block = to_address_block(decoded.object);
    assert_prefix(&block->ipv4, "10.224.0.96/27");
    assert_int_equal(block->ipv6.ip.family, IP_NONE);
    assert_string_equal(block->pool, "");
    assert_string_equal(block->node, "");
    assert_false(block->reserved);
}

static void refuses_bad_blocks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *message;
    } cases[] = {
        { "index: 0\n", "test:1:1", "neither ipv4 nor ipv6" },
        { "index: 0\nipv4: 10.0.0.0\n", "test:5:7", "\"10.0.0.0\" is not an IPv4 prefix" },
        { "index: 0\nipv4: \"fd00::/64\"\n", "test:5:7", "is not an IPv4 prefix" },
        { "index: 0\nipv6: 10.0.0.0/27\n", "test:5:7", "is not an IPv6 prefix" },
        { "index: 0\nipv4: 10.0.0.0/33\n", "test:5:7", "is not an IPv4 prefix" },
        { "index: 0\nipv4: [10.0.0.0/27]\n", "test:5:7", "ipv4: expected a single value" },
        { "index: 0\nipv4: 0.0.0.0/0\n", "test:5:7", "unspecified" },
        { "index: 0\nipv6: \"::/0\"\n", "test:5:7", "unspecified" },
        { "index: 0\nipv4: 127.0.0.0/27\n", "test:5:7", "loopback" },
        { "ipv4: 10.0.0.0/27\n", "test:1:1", "index is missing" },
        { "index: -1\nipv4: 10.0.0.0/27\n", "test:4:8", "index" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), COIL_HEAD("AddressBlock") "%s", cases[i].text);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_refused(&decoded, 1);
        assert_fault(&decoded.errors, cases[i].place, cases[i].message);
    }
}

static void labels_must_be_strings(void **state)
{
    (void)state;
    static const char *const bad[] = { "true", "7", "1.5", "[a]", "{a: b}", "-3" };
    static const char *const good[] = { "\"true\"", "yes", "1.2.3", "a7", "\"7\"", "null", "inf" };
    char text[512];
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        snprintf(text, sizeof(text),
                 "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata:\n"
                 "  name: x\n  labels:\n    coil.cybozu.com/reserved: %s\n"
                 "index: 0\nipv4: 10.0.0.0/27\n",
                 bad[i]);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_refused(&decoded, 1);
        assert_fault(&decoded.errors, "test:6:31", "coil.cybozu.com/reserved");
    }
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        snprintf(text, sizeof(text),
                 "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata:\n"
                 "  name: x\n  labels:\n    coil.cybozu.com/reserved: %s\n"
                 "index: 0\nipv4: 10.0.0.0/27\n",
                 good[i]);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, i == 0 ? 0 : 1);
        assert_int_equal(to_address_block(decoded.object)->reserved, i == 0);
    }
}

static void reads_a_pool(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml(COIL_HEAD("AddressPool") "spec:\n  blockSizeBits: 0\n  subnets:\n"
                                             "  - {ipv4: 10.0.0.1/24, ipv6: \"fd00::/120\"}\n"
                                             "  - ipv6: fd00::100/128\n");
    assert_decoded(&decoded, 2);
    const struct address_pool *pool = to_address_pool(decoded.object);
    assert_int_equal(pool->block_size_bits, 0);
    assert_int_equal(pool->subnet_count, 2);
    assert_prefix(&pool->subnets[0].ipv4, "10.0.0.0/24");
    assert_prefix(&pool->subnets[0].ipv6, "fd00::/120");
    assert_int_equal(pool->subnets[1].ipv4.ip.family, IP_NONE);
    assert_prefix(&pool->subnets[1].ipv6, "fd00::100/128");

    AUTODECODED struct decoded plain =
        decode_yaml(COIL_HEAD("AddressPool") "spec: {subnets: [{ipv4: 10.0.0.0/27}]}\n");
    assert_decoded(&plain, 0);
    assert_int_equal(to_address_pool(plain.object)->block_size_bits, 5);
    assert_int_equal(to_address_pool(plain.object)->mtu, 0);
}

static void reads_a_pools_mtu(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned mtu, warnings;
    } cases[] = { { "1280", 1280, 0 }, { "9000", 9000, 0 }, { "65535", 65535, 0 }, { "1279", 0, 1 },
                  { "65536", 0, 1 },   { "-1500", 0, 1 },   { "1500x", 0, 1 },     { "", 0, 1 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTOFREE char *yaml =
            text_format("apiVersion: coil.cybozu.com/v2\nkind: AddressPool\n"
                        "metadata: {name: x, annotations: {fingerpost.io/mtu: '%s'}}\n"
                        "spec: {subnets: [{ipv4: 10.0.0.0/27}]}\n",
                        cases[i].text);
        AUTODECODED struct decoded decoded = decode_yaml(yaml);
        assert_decoded(&decoded, cases[i].warnings);
        assert_int_equal(to_address_pool(decoded.object)->mtu, cases[i].mtu);
    }
}

static void refuses_bad_pools(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *place, *message;
    } cases[] = {
        { "{}", "test:4:7", "subnets is missing" },
        { "{subnets: []}", "test:4:17", "spec.subnets: is empty" },
        { "{subnets: [{}]}", "test:4:18", "spec.subnets[0]: neither" },
        { "{subnets: [null]}", "test:4:18", "spec.subnets[0]: is null" },
        { "{subnets: [{ipv4: 10.0.0.0}]}", "test:4:25", "not an IPv4 prefix" },
        { "{subnets: [{ipv4: \"fd00::/64\"}]}", "test:4:25", "not an IPv4 prefix" },
        { "{subnets: [{ipv6: 10.0.0.0/8}]}", "test:4:25", "not an IPv6 prefix" },
        { "{subnets: [{ipv4: 10.0.0.0/28}]}", "test:4:25", "narrower" },
        { "{subnets: [{ipv4: 10.0.0.0/24, ipv6: \"fd00::/64\"}]}", "test:4:18", "differ in size" },
        { "{blockSizeBits: -1, subnets: [{ipv4: 10.0.0.0/24}]}", "test:4:23", "blockSizeBits" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), COIL_HEAD("AddressPool") "spec: %s\n", cases[i].spec);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_refused(&decoded, 1);
        assert_fault(&decoded.errors, cases[i].place, cases[i].message);
    }
}

/* It may be older than the rule of the definition, and have blocks. */
static void takes_subnets_of_other_families_and_says_so(void **state)
{
    (void)state;
    AUTODECODED struct decoded mixed =
        decode_yaml(COIL_HEAD("AddressPool") "spec: {subnets: [{ipv4: 10.0.0.0/24}, "
                                             "{ipv6: \"fd00::/64\"}]}\n");
    assert_decoded(&mixed, 1);
    assert_fault(&mixed.warnings, "test:4:39", "other families");
    assert_int_equal(to_address_pool(mixed.object)->subnet_count, 2);
}

#define REQUEST COIL_HEAD("BlockRequest") "spec: {nodeName: n1, poolName: p1}\n"

static void reads_a_request(void **state)
{
    (void)state;
    AUTODECODED struct decoded fresh = decode_yaml(REQUEST);
    assert_decoded(&fresh, 0);
    const struct block_request *request = to_block_request(fresh.object);
    assert_string_equal(request->node, "n1");
    assert_string_equal(request->pool, "p1");
    assert_string_equal(request->block, "");
    assert_false(request->answered);

    AUTODECODED struct decoded served = decode_yaml(
        REQUEST "status: {addressBlockName: p1-7, conditions: [{type: Complete, status: 'True', "
                "reason: allocated, lastProbeTime: null}]}\n");
    assert_decoded(&served, 0);
    request = to_block_request(served.object);
    assert_string_equal(request->block, "p1-7");
    assert_true(request->answered && request->complete && !request->failed);
    assert_string_equal(request->reason, "");
}

/* As nodes read it: Failed counts before Complete, and its reason is told. */
static void reads_a_request_that_failed(void **state)
{
    (void)state;
    AUTODECODED struct decoded failed =
        decode_yaml(REQUEST "status: {conditions: [{type: Complete, status: 'True', reason: x}, "
                            "{type: Failed, status: 'True', reason: out of blocks}]}\n");
    assert_decoded(&failed, 0);
    const struct block_request *request = to_block_request(failed.object);
    assert_true(request->answered && request->complete && request->failed);
    assert_string_equal(request->reason, "out of blocks");

    AUTODECODED struct decoded open =
        decode_yaml(REQUEST "status: {conditions: [{type: Complete, status: Unknown}, "
                            "{type: Failed, status: 'False', reason: x}]}\n");
    assert_decoded(&open, 0);
    request = to_block_request(open.object);
    assert_true(request->answered && !request->complete && !request->failed);
    assert_string_equal(request->reason, "");
}

static void refuses_bad_requests(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *message;
    } cases[] = {
        { "", "test:1:1", "spec is missing" },
        { "spec: {nodeName: n1}\n", "test:4:7", "poolName is missing" },
        { "spec: {poolName: p1}\n", "test:4:7", "nodeName is missing" },
        { "spec: {nodeName: n1, poolName: [p1]}\n", "test:4:32", "expected a single value" },
        { "spec: {nodeName: n1, poolName: p1}\nstatus: {conditions: [{type: Failed}]}\n",
          "test:5:23", "status is missing" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), COIL_HEAD("BlockRequest") "%s", cases[i].text);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_refused(&decoded, 1);
        assert_fault(&decoded.errors, cases[i].place, cases[i].message);
    }
}

static void reads_an_egress(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_yaml(
        COIL_HEAD("Egress") "spec:\n  destinations: [0.0.0.0/0, \"64:ff9b::/96\", 10.1.1.1/8]\n"
                            "  replicas: 3\n  fouSourcePortAuto: true\n  sessionAffinity: None\n");
    assert_decoded(&decoded, 1);
    const struct egress *egress = to_egress(decoded.object);
    assert_string_equal(egress->object.namespace, "default");
    assert_int_equal(egress->destination_count, 3);
    assert_prefix(&egress->destinations[0], "0.0.0.0/0");
    assert_prefix(&egress->destinations[1], "64:ff9b::/96");
    assert_prefix(&egress->destinations[2], "10.0.0.0/8");
    assert_int_equal(egress->replicas, 3);
    assert_true(egress->source_port_auto);
    assert_false(egress->by_client);
    assert_null(egress->gateway_nodes);

    AUTODECODED struct decoded plain =
        decode_yaml(COIL_HEAD("Egress") "spec: {destinations: [10.0.0.0/8]}\n");
    assert_decoded(&plain, 0);
    assert_int_equal(to_egress(plain.object)->replicas, 1);
    assert_false(to_egress(plain.object)->source_port_auto);
    assert_true(to_egress(plain.object)->by_client);

    AUTODECODED struct decoded selecting =
        decode_yaml("apiVersion: coil.cybozu.com/v2\nkind: Egress\n"
                    "metadata: {name: x, annotations: {fingerpost.io/gateway-nodes: 'a=b, c'}}\n"
                    "spec: {destinations: [10.0.0.0/8], sessionAffinity: ClientIP}\n");
    assert_decoded(&selecting, 0);
    assert_true(to_egress(selecting.object)->by_client);
    assert_string_equal(to_egress(selecting.object)->gateway_nodes, "a=b, c");
}

static void refuses_bad_egresses(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *place, *message;
    } cases[] = {
        { "{}", "test:4:7", "destinations is missing" },
        { "{destinations: []}", "test:4:22", "is empty" },
        { "{destinations: [10.0.0.1]}", "test:4:23", "not an IP prefix" },
        { "{destinations: [null]}", "test:4:23", "not an IP prefix" },
        { "{destinations: [10.0.0.0/8], replicas: 0}", "test:4:46", "replicas" },
        { "{destinations: [10.0.0.0/8], fouSourcePortAuto: 1}", "test:4:55", "true or false" },
        { "{destinations: [10.0.0.0/8], sessionAffinity: IP}", "test:4:53", "ClientIP or None" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), COIL_HEAD("Egress") "spec: %s\n", cases[i].spec);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_refused(&decoded, 1);
        assert_fault(&decoded.errors, cases[i].place, cases[i].message);
    }
}

static void what_nobody_can_have_is_told(void **state)
{
    (void)state;
    AUTODECODED struct decoded never = decode_yaml(COIL_HEAD(
        "Egress") "spec: {destinations: [127.0.0.0/8, \"ff00::/8\", 0.0.0.0/1, \"::/0\"]}\n");
    assert_decoded(&never, 2);
    assert_fault(&never.warnings, "test:4:23", "nothing leaves the cluster for loopback");
    assert_fault(&never.warnings, "test:4:36", "nothing leaves the cluster for loopback");
    AUTODECODED struct decoded pool =
        decode_yaml(COIL_HEAD("AddressPool") "spec: {subnets: [{ipv4: 127.0.0.0/16}, {ipv4: "
                                             "10.0.0.0/16, ipv6: \"fe80::/112\"}]}\n");
    assert_refused(&pool, 2);
    assert_fault(&pool.errors, "test:4:25", "are no pods'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_block),
        cmocka_unit_test(a_block_of_one_family),
        cmocka_unit_test(refuses_bad_blocks),
        cmocka_unit_test(labels_must_be_strings),
        cmocka_unit_test(reads_a_pool),
        cmocka_unit_test(reads_a_pools_mtu),
        cmocka_unit_test(refuses_bad_pools),
        cmocka_unit_test(takes_subnets_of_other_families_and_says_so),
        cmocka_unit_test(reads_a_request),
        cmocka_unit_test(reads_a_request_that_failed),
        cmocka_unit_test(refuses_bad_requests),
        cmocka_unit_test(reads_an_egress),
        cmocka_unit_test(what_nobody_can_have_is_told),
        cmocka_unit_test(refuses_bad_egresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
