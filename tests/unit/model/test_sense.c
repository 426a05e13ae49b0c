// SPDX-License-Identifier: Apache-2.0
/* Fields of a Service that contradict each other, in a manifest. */
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
    if (part && !strstr(decoded.warnings.list.items[0].message, part))
        fail_msg("%s: %s", spec, decoded.warnings.list.items[0].message);
}

#define PORT     "ports: [{port: 80}]"
#define ONE      "clusterIP: 10.96.0.1, " PORT
#define BALANCED "type: LoadBalancer, " ONE
#define BOTH     "clusterIPs: [10.96.0.1, 'fd00::1'], " PORT

static void families_that_are_denied_are_told(void **state)
{
    (void)state;
    assert_told("clusterIPs: [10.96.0.1, 10.96.0.2], " PORT, "a second one of IPv4");
    assert_told("clusterIPs: [10.96.0.1], ipFamilies: [IPv6], " PORT,
                "spec.ipFamilies[0]: clusterIPs has an address of IPv4");
    assert_told(BOTH ", ipFamilies: [IPv4, IPv4]", "spec.ipFamilies[1]: clusterIPs has an address");
    assert_told(BOTH ", ipFamilyPolicy: SingleStack", "the Service has two families");
    assert_told(ONE ", ipFamilies: [IPv4, IPv6], ipFamilyPolicy: SingleStack",
                "the Service has two families");
    assert_told(ONE ", ipFamilyPolicy: RequireDualStack", "clusterIPs has one family only");
}

static void what_a_type_denies_is_told(void **state)
{
    (void)state;
    assert_told("type: LoadBalancer, clusterIP: None, " PORT,
                "type LoadBalancer needs a clusterIP");
    assert_told("type: NodePort, clusterIPs: [None], " PORT, "type NodePort needs a clusterIP");
    assert_told("type: ExternalName", "needs externalName");
    assert_told("type: ExternalName, externalName: a.example, clusterIP: 10.96.0.1",
                "has no addresses");
    assert_told(ONE ", externalName: a.example", "needs type: ExternalName");
    assert_told(ONE ", loadBalancerIP: 192.0.2.1", "needs type: LoadBalancer");
    assert_told(ONE ", allocateLoadBalancerNodePorts: false", "needs type: LoadBalancer");
    assert_told(BALANCED ", healthCheckNodePort: 30099", "externalTrafficPolicy: Local");
    assert_told(ONE ", trafficDistribution: PreferNear", "unknown word \"PreferNear\"");
}

static void ports_that_are_two_things_are_told(void **state)
{
    (void)state;
    assert_told("type: NodePort, clusterIP: 10.96.0.1, ports: [{name: a, port: 80, nodePort: "
                "30080}, {name: b, port: 81, nodePort: 30080}]",
                "spec.ports[1]: node port 30080/TCP is another port's");
    assert_told("type: LoadBalancer, clusterIP: 10.96.0.1, externalTrafficPolicy: Local, "
                "healthCheckNodePort: 30080, ports: [{port: 80, nodePort: 30080}]",
                "is healthCheckNodePort, too");
}

static void what_agrees_is_silent(void **state)
{
    (void)state;
    assert_told(BOTH ", ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack", NULL);
    assert_told(BOTH ", ipFamilies: [IPv4], ipFamilyPolicy: PreferDualStack", NULL);
    assert_told(ONE ", ipFamilyPolicy: SingleStack, trafficDistribution: PreferClose", NULL);
    assert_told("clusterIP: None, ipFamilies: [IPv4], ipFamilyPolicy: RequireDualStack", NULL);
    assert_told("type: ExternalName, externalName: a.example", NULL);
    assert_told("type: LoadBalancer, clusterIP: 10.96.0.1, externalTrafficPolicy: Local, "
                "healthCheckNodePort: 30081, loadBalancerIP: 192.0.2.1, ports: [{name: a, port: "
                "80, nodePort: 30080}, {name: b, port: 80, nodePort: 30080, protocol: UDP}]",
                NULL);
}

/* The API would have refused them. */
static void objects_of_the_api_are_not_looked_at(void **state)
{
    (void)state;
    AUTODECODED struct decoded decoded =
        decode_yaml("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
                    "spec: {type: NodePort, clusterIP: None, ports: [{port: 80}]}\n");
    AUTOFAULTS struct faults errors = { 0 }, warnings = { 0 };
    struct object *object = NULL;
    decoded.document->file = "";
    assert_int_equal(object_decode_as(decoded.document, KIND_SERVICE, &object, &errors, &warnings),
                     1);
    object_free(object);
    assert_int_equal(decoded.warnings.list.count, 1);
    assert_int_equal(warnings.list.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_that_are_denied_are_told),
        cmocka_unit_test(what_a_type_denies_is_told),
        cmocka_unit_test(ports_that_are_two_things_are_told),
        cmocka_unit_test(what_agrees_is_silent),
        cmocka_unit_test(objects_of_the_api_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
