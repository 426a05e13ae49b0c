// SPDX-License-Identifier: Apache-2.0
/* Fields of a Service that do nothing beside its others, as the API refuses them. */
#include "base/macro.h"
#include "base/text.h"
#include "decoded.h"

/* The warning about a Service with this spec, on its only line; NULL: there is none. */
static void assert_told(const char *spec, const char *part)
{
    AUTOTEXT struct text text = { 0 };
    text_addf(&text, "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {%s}\n", spec);
    AUTODECODED struct decoded decoded = decode_yaml(text_str(&text));
    assert_decoded(&decoded, part ? 1 : 0);
    if (part)
        assert_non_null(strstr(decoded.warnings.list.items[0].message, part));
}

#define PORT "clusterIP: 10.96.0.1, ports: [{port: 80}]"

static void what_does_nothing_is_told(void **state)
{
    (void)state;
    assert_told(PORT ", loadBalancerSourceRanges: [10.0.0.0/8]", "needs type: LoadBalancer");
    assert_told(PORT ", type: NodePort, loadBalancerClass: a", "needs type: LoadBalancer");
    assert_told(PORT ", externalTrafficPolicy: Local", "needs type: LoadBalancer or NodePort");
    assert_told(PORT ", sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}",
                "needs sessionAffinity: ClientIP");
    assert_told("clusterIP: 10.96.0.1, ports: [{port: 80, nodePort: 30080}]",
                "spec.ports[0].nodePort: does nothing here");
    assert_told("clusterIP: 10.96.0.1, ports: [{port: 80}, {port: 81}]",
                "two ports are called \"\"");
    assert_told("clusterIP: 10.96.0.1, clusterIPs: [10.96.0.2], ports: [{port: 80}]",
                "clusterIPs, which begin with \"10.96.0.2\"");
}

static void what_counts_is_silent(void **state)
{
    (void)state;
    assert_told(PORT ", externalIPs: [192.0.2.1], externalTrafficPolicy: Local", NULL);
    assert_told(PORT ", externalTrafficPolicy: Cluster, loadBalancerSourceRanges: []", NULL);
    assert_told(PORT ", loadBalancerClass: '', healthCheckNodePort: 0", NULL);
    assert_told("clusterIP: None, ports: [{port: 80}, {port: 81}]", NULL);
    assert_told("type: LoadBalancer, clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1], "
                "externalTrafficPolicy: Local, healthCheckNodePort: 30099, "
                "ports: [{name: a, port: 80, nodePort: 30080}, {name: b, port: 81}]",
                NULL);
    assert_told("clusterIP: 10.96.0.1, ports: [{port: 80, nodePort: 0}]", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_nothing_is_told),
        cmocka_unit_test(what_counts_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
