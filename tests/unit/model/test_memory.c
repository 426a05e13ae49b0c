// SPDX-License-Identifier: Apache-2.0
/* Objects are compact, and decoding survives the failure of each of its allocations. */
#include "base/text.h"
#include "decoded.h"
#include "failing_malloc.h"
#include "model/services/endpoint_slice.h"
#include "model/services/service.h"

struct arena *__real_arena_new(size_t size);
struct arena *__wrap_arena_new(size_t size);

/* The arena made last, and what was allocated since. */
static size_t arena_size;

struct arena *__wrap_arena_new(size_t size)
{
    arena_size = size;
    allocations = 0;
    return __real_arena_new(size);
}

static const char service_text[] =
    "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n"
    "spec: {clusterIPs: [10.96.0.1, bad], externalIPs: [192.0.2.1],\n"
    "  loadBalancerSourceRanges: [192.0.2.0/24, bad],\n"
    "  ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}\n";

/* One of each other kind, with all that is kept of it. */
static const char *const other_texts[] = {
    "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
    "metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}\n"
    "addressType: IPv4\nports: [{name: http, port: 80}, {port: 81}]\n"
    "endpoints: [{addresses: [10.0.0.1], nodeName: n, hints: {forZones: [{name: a}],\n"
    "  forNodes: [{name: n}, {name: m}]}}, {addresses: [bad]}]\n",
    "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {topology.kubernetes.io/zone: a}}\n"
    "status: {addresses: [{type: InternalIP, address: 192.0.2.1},\n"
    "  {type: InternalIP, address: bad}]}\n",
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop,\n"
    "  annotations: {egress.coil.cybozu.com/net: 'nat, B, x'}}\n"
    "spec: {nodeName: n}\nstatus: {phase: Running, podIPs: [{ip: 10.0.0.1}, {ip: bad}]}\n",
    "apiVersion: coil.cybozu.com/v2\nkind: AddressPool\nmetadata: {name: default}\n"
    "spec: {blockSizeBits: 5, subnets: [{ipv4: 10.0.0.1/16, ipv6: \"fd00::/112\"}]}\n",
    "apiVersion: coil.cybozu.com/v2\nkind: AddressBlock\nmetadata: {name: b,\n"
    "  labels: {coil.cybozu.com/node: n, coil.cybozu.com/pool: p}}\n"
    "index: 1\nipv4: 10.0.0.1/27\nipv6: \"fd00::/123\"\n",
    "apiVersion: coil.cybozu.com/v2\nkind: Egress\nmetadata: {name: e, namespace: shop,\n"
    "  annotations: {fingerpost.io/gateway-nodes: a}}\n"
    "spec: {destinations: [10.0.0.1/8, \"::/0\"]}\n",
};

static const char broken_text[] =
    "apiVersion: v1\nkind: Service\nmetadata: {name: Web}\nspec: {type: x, ports: [{port: 0}]}\n";

static void assert_every_allocation_may_fail(const char *text, int least_failures)
{
    AUTODECODED struct decoded good = decode_yaml(text);
    int failures = 0;
    assert_int_equal(good.r, 1);
    for (int n = 0;; n++) {
        AUTOFAULTS struct faults errors = { 0 };
        AUTOFAULTS struct faults warnings = { 0 };
        struct object *object = NULL;
        allocations_left = n;
        int r = object_decode(good.document, &object, NULL, &errors, &warnings);
        allocations_left = -1;
        if (r == 1) {
            assert_true(object_equal(object, good.object));
            assert_true(faults_none(&errors));
            /* Listed, or lost and known to be. */
            assert_int_equal(faults_none(&warnings), faults_none(&good.warnings));
            bool complete = !warnings.incomplete;
            object_free(object);
            if (complete)
                break;
            continue;
        }
        failures++;
        assert_int_equal(r, -ENOMEM);
        assert_null(object);
    }
    assert_true(failures >= least_failures);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_every_allocation_may_fail(service_text, 4);
    for (size_t i = 0; i < ARRAY_SIZE(other_texts); i++)
        assert_every_allocation_may_fail(other_texts[i], 2);
}

static void an_error_without_memory_is_still_an_error(void **state)
{
    (void)state;
    AUTODECODED struct decoded broken = decode_yaml(broken_text);
    assert_refused(&broken, 3);
    for (int n = 0; n < 60; n++) {
        AUTOFAULTS struct faults errors = { 0 };
        AUTOFAULTS struct faults warnings = { 0 };
        struct object *object = NULL;
        allocations_left = n;
        int r = object_decode(broken.document, &object, NULL, &errors, &warnings);
        allocations_left = -1;
        assert_true(r == -ENOMEM || (r == -EBADMSG && !faults_none(&errors)));
        assert_null(object);
    }
}

static void objects_take_just_what_they_need(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    text_add(&text, "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
                    "metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}\n"
                    "addressType: IPv4\nports: [{port: 80}]\nendpoints:\n");
    for (int i = 0; i < 100; i++)
        text_addf(&text, "- {addresses: [10.0.0.%d], nodeName: node-%02d}\n", i + 1, i);
    AUTODECODED struct decoded decoded = decode_yaml(text_str(&text));
    assert_decoded(&decoded, 0);

    size_t strings = 100 * sizeof("node-00") + sizeof("web-1") + sizeof("web") + sizeof("test");
    size_t need = sizeof(struct endpoint_slice) + 100 * sizeof(struct endpoint) +
                  sizeof(struct slice_port) + strings;
    assert_true(arena_size >= need);
    assert_true(arena_size < need + 64); /* rounding */
    assert_int_equal(allocations, 2);    /* the arena and one chunk: it was large enough */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(an_error_without_memory_is_still_an_error),
        cmocka_unit_test(objects_take_just_what_they_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
