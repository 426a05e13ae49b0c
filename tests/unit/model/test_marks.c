// SPDX-License-Identifier: Apache-2.0
/* Labels and annotations: what a Service's say, and those that nobody reads: nearly ours, at
 * another kind, or in the other list. */
#include "base/macro.h"
#include "base/text.h"
#include "decoded.h"
#include "model/services/service.h"

static void assert_told(const char *api_version, const char *kind, const char *metadata,
                        const char *part)
{
    AUTOTEXT struct text text = { 0 };
    text_addf(&text, "apiVersion: %s\nkind: %s\nmetadata: {name: a, %s}\nspec: {%s}\n", api_version,
              kind, metadata,
              strcmp(kind, "Service") == 0 ? "type: ExternalName, externalName: a" : "");
    AUTODECODED struct decoded decoded = decode_yaml(text_str(&text));
    if (part) {
        assert_int_equal(decoded.warnings.list.count, 1);
        assert_non_null(strstr(decoded.warnings.list.items[0].message, part));
    } else {
        assert_int_equal(decoded.warnings.list.count, 0);
    }
}

static void what_a_service_says_by_them(void **state)
{
    (void)state;
    static const struct {
        const char *metadata;
        bool announce, headless_label;
        int route_class;
        size_t warnings;
    } cases[] = {
        { "annotations: {fingerpost.io/announce: \"true\"}", true, false, -1, 0 },
        { "annotations: {fingerpost.io/announce: false}", false, false, -1, 0 },
        { "annotations: {fingerpost.io/announce: \"no\"}", true, false, -1, 1 },
        { "annotations: {fingerpost.io/announce: \"\"}", true, false, -1, 1 },
        { "annotations: {fingerpost.io/route-class: \"0\"}", true, false, 0, 0 },
        { "annotations: {fingerpost.io/route-class: 7}", true, false, 7, 0 },
        { "annotations: {fingerpost.io/route-class: \"30\"}", true, false, -1, 1 },
        { "annotations: {fingerpost.io/route-class: \"-1\"}", true, false, -1, 1 },
        { "annotations: {fingerpost.io/route-class: \" 1\"}", true, false, -1, 1 },
        { "annotations: {fingerpost.io/route-class: \"1x\"}", true, false, -1, 1 },
        { "annotations: {fingerpost.io/route-class: \"4294967297\"}", true, false, -1, 1 },
        { "annotations: {other: {a: b}}, labels: null", true, false, -1, 0 },
        { "labels: {service.kubernetes.io/headless: \"\"}", true, true, -1, 0 },
        { "labels: {service.kubernetes.io/headless: null}", true, true, -1, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "apiVersion: v1\nkind: Service\nmetadata: {name: web, %s}\nspec: {}\n",
                 cases[i].metadata);
        AUTODECODED struct decoded decoded = decode_yaml(text);
        assert_decoded(&decoded, cases[i].warnings);
        const struct service *service = to_service(decoded.object);
        assert_int_equal(service->announce, cases[i].announce);
        assert_int_equal(service->headless_label, cases[i].headless_label);
        assert_int_equal(service->route_class, cases[i].route_class);
    }
}

static void what_is_nearly_read_is_told(void **state)
{
    (void)state;
    assert_told("v1", "Service", "annotations: {metallb.universe.tf/loadBalancerIP: 192.0.2.1}",
                "did you mean \"metallb.universe.tf/loadBalancerIPs\"?");
    assert_told("v1", "Service", "annotations: {metalb.io/address-pool: gold}",
                "did you mean \"metallb.io/address-pool\"?");
    assert_told("v1", "Service", "annotations: {kube-service-exporter.github.com/export: 'true'}",
                "did you mean \"kube-service-exporter.github.com/exported\"?");
    assert_told("v1", "Pod", "annotations: {egress.coil.cybozo.com/internet: nat}",
                "did you mean \"egress.coil.cybozu.com/NAMESPACE\"?");
    assert_told("v1", "Node",
                "labels: {node.kubernetes.io/exclude-from-external-loadbalancers: ''}",
                "did you mean \"node.kubernetes.io/exclude-from-external-load-balancers\"?");
    assert_told("v1", "Namespace", "annotations: {coil.cybozu.com/pol: gold}",
                "did you mean \"coil.cybozu.com/pool\"?");
    assert_told("v1", "Service", "labels: {service.kubernetes.io/service-proxyname: a}",
                "did you mean \"service.kubernetes.io/service-proxy-name\"?");
}

static void what_stands_elsewhere_is_told(void **state)
{
    (void)state;
    assert_told("v1", "Service", "annotations: {fingerpost.io/gateway-nodes: a=b}",
                "counts at the kind Egress only");
    assert_told("v1", "Service", "labels: {fingerpost.io/announce: 'false'}",
                "is an annotation, not a label");
    assert_told("v1", "Node",
                "annotations: {node.kubernetes.io/exclude-from-external-load-balancers: ''}",
                "is a label, not an annotation");
    assert_told("v1", "Namespace", "labels: {coil.cybozu.com/pool: gold}",
                "is an annotation, not a label");
}

static void what_others_write_is_silent(void **state)
{
    (void)state;
    assert_told(
        "v1", "Service",
        "annotations: {metallb.io/ip-allocated-from-pool: lb, prometheus.io/scrape: 'true', "
        "service.kubernetes.io/topology-mode: auto, a: b}, labels: {app: web, "
        "app.kubernetes.io/name: web, helm.sh/chart: web}",
        NULL);
    assert_told(
        "v1", "Node",
        "annotations: {node.alpha.kubernetes.io/ttl: '0', csi.volume.kubernetes.io/nodeid: a}, "
        "labels: {topology.kubernetes.io/region: a, topology.kubernetes.io/zone: b, "
        "node-role.kubernetes.io/worker: '', kubernetes.io/os: linux}",
        NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_service_says_by_them),
        cmocka_unit_test(what_is_nearly_read_is_told),
        cmocka_unit_test(what_stands_elsewhere_is_told),
        cmocka_unit_test(what_others_write_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
