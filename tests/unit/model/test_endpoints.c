// SPDX-License-Identifier: Apache-2.0
/* Endpoints as EndpointSlices: a slice for each subset and family, every error at once, once. */
#include "base/text.h"
#include "decoded.h"
#include "model/services/endpoint_slice.h"
#include "model/services/endpoints.h"

#define HEAD "apiVersion: v1\nkind: Endpoints\nmetadata: {name: db, namespace: shop}\n" /* 3 */

enum { SLICES_MAX = 8 };

struct given {
    struct object *slices[SLICES_MAX];
    size_t count;
    int r;
    struct document *document;
    struct faults errors, warnings;
};

static int give(void *context, struct object *slice)
{
    struct given *given = context;
    assert_true(given->count < SLICES_MAX);
    given->slices[given->count++] = slice;
    return 0;
}

static struct given take(const char *text)
{
    struct given given = { 0 };
    struct faults faults = { 0 };
    assert_int_equal(
        document_parse(text, strlen(text), "test", READER_YAML, &given.document, &faults), 1);
    given.r = endpoints_decode(given.document, give, &given, &given.errors, &given.warnings);
    return given;
}

static void given_done(struct given *given)
{
    for (size_t i = 0; i < given->count; i++)
        object_free(given->slices[i]);
    document_free(given->document);
    faults_done(&given->errors);
    faults_done(&given->warnings);
}

#define AUTOGIVEN CLEANUP(given_done)

static void assert_endpoint(const struct endpoint_slice *slice, uint32_t i, const char *ip,
                            bool ready, const char *node)
{
    char text[IP_STRLEN];
    assert_string_equal(ip_str(&slice->endpoints[i].ip, text), ip);
    assert_int_equal(slice->endpoints[i].ready, ready);
    assert_int_equal(slice->endpoints[i].serving, ready);
    assert_false(slice->endpoints[i].terminating);
    assert_string_equal(slice->endpoints[i].node_name, node);
}

static void each_subset_has_a_slice_of_each_family(void **state)
{
    (void)state;
    AUTOGIVEN struct given given =
        take(HEAD "subsets:\n"
                  "- addresses: [{ip: 192.0.2.1, nodeName: node-1}, {ip: 'fd00::1'}]\n"
                  "  notReadyAddresses: [{ip: 192.0.2.2}]\n"
                  "  ports: [{name: sql, port: 5432}, {name: dns, port: 53, protocol: UDP}]\n"
                  "- addresses: [{ip: 192.0.2.3}]\n"
                  "  ports: null\n"
                  "- {}\n");
    assert_int_equal(given.r, 1);
    assert_true(faults_none(&given.errors) && faults_none(&given.warnings));
    assert_int_equal(given.count, 3);
    const struct endpoint_slice *v4 = to_endpoint_slice(given.slices[0]);
    const struct endpoint_slice *v6 = to_endpoint_slice(given.slices[1]);
    const struct endpoint_slice *rest = to_endpoint_slice(given.slices[2]);
    assert_string_equal(v4->object.name, "db.endpoints-1-v4");
    assert_string_equal(v6->object.name, "db.endpoints-1-v6");
    assert_string_equal(rest->object.name, "db.endpoints-2-v4");
    for (size_t i = 0; i < given.count; i++) {
        assert_string_equal(to_endpoint_slice(given.slices[i])->service, "db");
        assert_string_equal(given.slices[i]->namespace, "shop");
        assert_int_equal(to_endpoint_slice(given.slices[i])->source, SLICE_ENDPOINTS);
    }
    assert_int_equal(v4->family, IP_V4);
    assert_int_equal(v6->family, IP_V6);
    assert_int_equal(v4->endpoint_count, 2);
    assert_endpoint(v4, 0, "192.0.2.1", true, "node-1");
    assert_endpoint(v4, 1, "192.0.2.2", false, "");
    assert_int_equal(v6->endpoint_count, 1);
    assert_endpoint(v6, 0, "fd00::1", true, "");
    assert_int_equal(v4->port_count, 2);
    assert_string_equal(v4->ports[1].name, "dns");
    assert_int_equal(v4->ports[1].protocol, PROTOCOL_UDP);
    assert_int_equal(v4->ports[0].port, 5432);
    assert_int_equal(rest->port_count, 0);
}

static void every_error_is_told_once(void **state)
{
    (void)state;
    AUTOGIVEN struct given given = take(HEAD "subsets:\n"
                                             "- addresses: [{hostname: a}, {ip: 192.0.2.1}]\n"
                                             "  ports: [{name: sql}]\n"
                                             "- ports: [{port: 70000}]\n");
    assert_int_equal(given.r, -EBADMSG);
    assert_int_equal(given.count, 0);
    assert_int_equal(given.errors.list.count, 3);
    assert_fault(&given.errors, "test:5:15", "ip is missing");
    assert_fault(&given.errors, "test:6:11", "port is missing");
    assert_fault(&given.errors, "test:7:18", "65535");
}

static void an_address_that_is_none_is_left_out(void **state)
{
    (void)state;
    AUTOGIVEN struct given given =
        take(HEAD "subsets: [{addresses: [{ip: db.example}, {ip: 192.0.2.1}, {ip: 'fd00::1'}]}]\n");
    assert_int_equal(given.r, 1);
    assert_int_equal(given.count, 2);
    assert_int_equal(given.warnings.list.count, 1);
    assert_int_equal(to_endpoint_slice(given.slices[0])->endpoint_count, 1);
}

static void what_the_api_does_not_mirror_is_left_alone(void **state)
{
    static const char *const others[] = {
        "apiVersion: v1\nkind: Endpoints\n"
        "metadata: {name: a, annotations: {endpoints.kubernetes.io/last-change-trigger-time: x}}\n",
        "apiVersion: v1\nkind: Endpoints\n"
        "metadata: {name: a, labels: {endpoints.kubernetes.io/managed-by: endpoint-controller}}\n",
        "apiVersion: v1\nkind: Endpoints\n"
        "metadata: {name: a, annotations: {control-plane.alpha.kubernetes.io/leader: '{}'}}\n",
        "apiVersion: v1\nkind: Endpoints\n"
        "metadata: {name: a, labels: {endpointslice.kubernetes.io/skip-mirror: 'true'}}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
        "apiVersion: [v1]\nkind: Endpoints\n",
        "[]\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        AUTOGIVEN struct given given = take(others[i]);
        assert_int_equal(given.r, 0);
        assert_true(faults_none(&given.errors) && faults_none(&given.warnings));
    }
    AUTOGIVEN struct given none = take(HEAD);
    assert_int_equal(none.r, 1);
    assert_int_equal(none.count, 0);
}

static void subsets_without_end_are_refused(void **state)
{
    AUTOTEXT struct text text = { 0 };
    (void)state;
    text_add(&text, HEAD "subsets:\n");
    for (int i = 0; i < 1001; i++)
        text_add(&text, "- {}\n");
    AUTOGIVEN struct given given = take(text_str(&text));
    assert_int_equal(given.r, -EBADMSG);
    assert_fault(&given.errors, "test:5:1", "more than 1000 subsets");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_subset_has_a_slice_of_each_family),
        cmocka_unit_test(every_error_is_told_once),
        cmocka_unit_test(an_address_that_is_none_is_left_out),
        cmocka_unit_test(what_the_api_does_not_mirror_is_left_alone),
        cmocka_unit_test(subsets_without_end_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
