// SPDX-License-Identifier: Apache-2.0
/* Objects are compact, and decoding survives the failure of each of its allocations. */
#include "base/text.h"
#include "decoded.h"
#include "failing_malloc.h"
#include "model/endpoint_slice.h"
#include "model/service.h"

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
    "  ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}\n";

static const char broken_text[] =
    "apiVersion: v1\nkind: Service\nmetadata: {name: Web}\nspec: {type: x, ports: [{port: 0}]}\n";

static void every_allocation_may_fail(void **state)
{
    (void)state;
    AUTODECODED struct decoded good = decode_yaml(service_text);
    int failures = 0;
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
            assert_false(faults_none(&warnings)); /* listed, or lost and known to be */
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
    assert_true(failures >= 4);
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
