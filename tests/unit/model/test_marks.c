// SPDX-License-Identifier: Apache-2.0
/* Labels and annotations that nobody reads: nearly ours, at another kind, or in the other list. */
#include "base/macro.h"
#include "base/text.h"
#include "decoded.h"

static void assert_told(const char *api_version, const char *kind, const char *metadata,
                        const char *part)
{
    AUTOTEXT struct text text = { 0 };
    text_addf(&text, "apiVersion: %s\nkind: %s\nmetadata: {name: a, %s}\nspec: {%s}\n", api_version,
              kind, metadata, strcmp(kind, "Service") == 0 ? "type: ExternalName" : "");
    AUTODECODED struct decoded decoded = decode_yaml(text_str(&text));
    if (part) {
        assert_int_equal(decoded.warnings.list.count, 1);
        assert_non_null(strstr(decoded.warnings.list.items[0].message, part));
    } else {
        assert_int_equal(decoded.warnings.list.count, 0);
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
        cmocka_unit_test(what_is_nearly_read_is_told),
        cmocka_unit_test(what_stands_elsewhere_is_told),
        cmocka_unit_test(what_others_write_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
