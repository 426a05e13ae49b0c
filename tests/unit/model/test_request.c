// SPDX-License-Identifier: Apache-2.0
/* What a Service asks of whoever gives addresses: by which annotations and fields. */
#include "base/macro.h"
#include "base/text.h"
#include "decoded.h"
#include "model/services/service.h"

static struct decoded decode_request(const char *annotations, const char *spec)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {%s}}\n"
             "spec: {type: LoadBalancer, ports: [{port: 80}]%s}\n",
             annotations, spec);
    return decode_yaml(text);
}

static void assert_ips(const struct address_request *request, const char *expected)
{
    char text[256] = "", buffer[IP_STRLEN];
    for (uint32_t i = 0; i < request->address_count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? "," : "",
                 ip_str(&request->addresses[i], buffer));
    assert_string_equal(text, expected);
}

static void all_groups_are_read(void **state)
{
    (void)state;
    static const char *const groups[] = { "fingerpost.io", "metallb.io", "metallb.universe.tf" };
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "%s/loadBalancerIPs: ' 192.0.2.7 ,2001:db8::7,192.0.2.7', %s/address-pool: lb, "
                 "%s/allow-shared-ip: key",
                 groups[i], groups[i], groups[i]);
        AUTODECODED struct decoded decoded = decode_request(text, "");
        assert_decoded(&decoded, 0);
        const struct address_request *request = &to_service(decoded.object)->request;
        assert_ips(request, "192.0.2.7,2001:db8::7");
        assert_string_equal(request->pool, "lb");
        assert_string_equal(request->sharing_key, "key");
        assert_false(request->unreadable);
    }
}

static void without_any_there_is_no_request(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded = decode_request(
        "metallb.io/loadBalancerIPs: '', metallb.io/address-pool: ''", ", loadBalancerIP: ''");
    assert_decoded(&decoded, 0);
    const struct address_request *request = &to_service(decoded.object)->request;
    assert_int_equal(request->address_count, 0);
    assert_false(request->unreadable || request->v4 || request->v6);
    assert_null(request->pool);
    assert_null(request->sharing_key);
    assert_int_equal(request->policy, FAMILY_SINGLE);
}

static void the_first_group_counts_and_the_rest_is_said(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_request("metallb.io/loadBalancerIPs: 192.0.2.8, fingerpost.io/loadBalancerIPs: "
                       "192.0.2.7, metallb.universe.tf/loadBalancerIPs: 192.0.2.7",
                       ", loadBalancerIP: 192.0.2.9");
    assert_decoded(&decoded, 2);
    assert_ips(&to_service(decoded.object)->request, "192.0.2.7");
    for (size_t i = 0; i < 2; i++)
        assert_non_null(strstr(decoded.warnings.list.items[i].message,
                               "says something else than fingerpost.io/loadBalancerIPs"));
}

static void what_cannot_be_read_is_no_lack_of_a_request(void **state)
{
    (void)state;
    static const char *const bad[] = { "x",          "192.0.2.7,", "127.0.0.1", "192.0.2.0/24",
                                       "192.0.2.01", "," };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char text[128];
        snprintf(text, sizeof(text), "metallb.io/loadBalancerIPs: '%s'", bad[i]);
        AUTODECODED struct decoded decoded = decode_request(text, "");
        assert_decoded(&decoded, i == 5 ? 2 : 1);
        assert_true(to_service(decoded.object)->request.unreadable);
        assert_non_null(strstr(decoded.warnings.list.items[0].message,
                               "is given no address until this is fixed"));
    }
}

/* Every spelling is one of two: all of it is read, or the whole request is unreadable. */
static void a_request_is_read_as_a_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text, *ips;
        bool unreadable;
    } requests[] = {
        { "1.2.3.4,1000::1", "1.2.3.4,1000::1", false },
        { "1000::1,1.2.3.4", "1000::1,1.2.3.4", false },
        { "1.2.3.4,1000::x", "1.2.3.4", true },
        { "1.2.3.04,1000::1", "1000::1", true },
        { "1.2.3.4,1.2.3.4", "1.2.3.4", false },
        { "1000::1,1000:0::0001,1000::1", "1000::1", false },
        { "  1.2.3.4 ,\t1000::1 ", "1.2.3.4,1000::1", false },
        { "1.2.3.4 1000::1", "", true },
        { "1.2.3.4;1000::1", "", true },
        { "1.2.3.4,[1000::1]", "1.2.3.4", true },
        { "[1.2.3.4]", "", true },
        { "1.2.3.4/32,1000::1", "1000::1", true },
        { "1.2.3.4,1000::1/128", "1.2.3.4", true },
        { "1.2.3.4-1.2.3.5", "", true },
        { "::ffff:1.2.3.4", "1.2.3.4", false },
        { "::ffff:1.2.3.4,1.2.3.4", "1.2.3.4", false },
        { "::ffff:1.2.3.04", "", true },
        { "::ffff:127.0.0.1", "", true },
        { "1000::1%eth0", "", true },
        { "fe80::1%eth0,1.2.3.4", "1.2.3.4", true },
        { "fe80::1", "", true },
        { "1.2.3.4,,1000::1", "1.2.3.4,1000::1", true },
        { "1.2.3", "", true },
        { "16909060", "", true },
        { "0x1.2.3.4", "", true },
        /* Of the longest that there is, what stands behind it is no less part of the text. */
        { "1000:0000:0000:0000:0000:0000:192.168.100.100", "1000::c0a8:6464", false },
        { "1000:0000:0000:0000:0000:0000:192.168.100.1009", "", true },
        { "1000:0000:0000:0000:0000:0000:192.168.100.100/64", "", true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        char text[128];
        snprintf(text, sizeof(text), "metallb.io/loadBalancerIPs: \"%s\"", requests[i].text);
        AUTODECODED struct decoded decoded = decode_request(text, "");
        const struct address_request *request = &to_service(decoded.object)->request;
        if (request->unreadable != requests[i].unreadable)
            fail_msg("%s: unreadable is %d", requests[i].text, request->unreadable);
        assert_decoded(&decoded, requests[i].unreadable);
        assert_ips(request, requests[i].ips);
    }
}

static void no_more_than_sixteen(void **state)
{
    (void)state;
    AUTOTEXT struct text text = { 0 };
    text_add(&text, "metallb.io/loadBalancerIPs: '192.0.2.1");
    for (int i = 2; i <= WISHED_ADDRESSES_MAX + 1; i++)
        text_addf(&text, ",192.0.2.%d", i);
    text_add(&text, "'");
    AUTODECODED struct decoded decoded = decode_request(text_str(&text), "");
    assert_decoded(&decoded, 1);
    assert_true(to_service(decoded.object)->request.unreadable);
    assert_int_equal(to_service(decoded.object)->request.address_count, WISHED_ADDRESSES_MAX);
}

static void families_and_their_policy(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_request("a: b", ", loadBalancerIP: 192.0.2.9, ipFamilies: [IPv6, IPv4], "
                               "ipFamilyPolicy: RequireDualStack");
    assert_decoded(&decoded, 0);
    const struct address_request *request = &to_service(decoded.object)->request;
    assert_ips(request, "192.0.2.9");
    assert_true(request->v4 && request->v6);
    assert_int_equal(request->policy, FAMILY_REQUIRE_DUAL);

    AUTODECODED struct decoded wrong = decode_request("a: b", ", ipFamilies: [IPv5]");
    assert_refused(&wrong, 1);
}

static void labels_are_kept(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {b: c, a: ''}}\n"
                    "spec: {ports: [{port: 80}]}\n");
    assert_decoded(&decoded, 0);
    const struct service *service = to_service(decoded.object);
    assert_int_equal(service->label_count, 2);
    assert_string_equal(service->labels[0].name, "a");
    assert_string_equal(service->labels[1].value, "c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_groups_are_read),
        cmocka_unit_test(without_any_there_is_no_request),
        cmocka_unit_test(the_first_group_counts_and_the_rest_is_said),
        cmocka_unit_test(what_cannot_be_read_is_no_lack_of_a_request),
        cmocka_unit_test(a_request_is_read_as_a_whole),
        cmocka_unit_test(no_more_than_sixteen),
        cmocka_unit_test(families_and_their_policy),
        cmocka_unit_test(labels_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
