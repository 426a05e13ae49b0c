// SPDX-License-Identifier: Apache-2.0
/* The pods of an Egress: what the template says, and what makes gateways of them. */
#include "base/macro.h"
#include "workload_planning.h"

static void without_a_template_the_pods_are_gateways(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "");
    plan(fx, &deployment);
    const char *pod_template = strstr(text_str(&fx->body), "\"template\"");
    assert_string_equal(
        pod_template,
        "\"template\":{\"metadata\":{\"labels\":{\"app.kubernetes.io/name\":\"coil\","
        "\"app.kubernetes.io/instance\":\"nat\",\"app.kubernetes.io/component\":\"egress\"},"
        "\"annotations\":{\"fingerpost.io/agentd.yaml\":\"source:\\n  kubernetes: {}\\n"
        "routes:\\n  enabled: false\\nservices:\\n  enabled: false\\n  uplinks: [eth0]\\n"
        "egress:\\n  gateway:\\n    serves: [net/nat]\\npaths:\\n  bpf: /run/bpf\\n"
        "api:\\n  listen: \\\"[::]:9394\\\"\\n\"}},"
        "\"spec\":{\"serviceAccountName\":\"fingerpost-egress\","
        "\"terminationGracePeriodSeconds\":90,"
        "\"containers\":[{\"name\":\"egress\",\"image\":\"" IMAGE "\","
        "\"command\":[\"/bin/sh\",\"-c\"],\"args\":[\"agentd & agent=$!\\n"
        "trap 'kill $agent; wait $agent; agentctl cleanup; exit 0' TERM\\nwait $agent\\n\"],"
        "\"ports\":[{\"name\":\"metrics\",\"containerPort\":9394}],"
        "\"readinessProbe\":{\"httpGet\":{\"path\":\"/readyz\",\"port\":9394}},"
        "\"livenessProbe\":{\"httpGet\":{\"path\":\"/livez\",\"port\":9394},"
        "\"initialDelaySeconds\":10},"
        "\"lifecycle\":{\"preStop\":{\"exec\":{\"command\":[\"agentctl\",\"drain\"]}}},"
        "\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"},"
        "\"limits\":{\"memory\":\"1536Mi\"}},"
        "\"env\":["
        "{\"name\":\"POD_UID\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.uid\"}}},"
        "{\"name\":\"COIL_POD_NAMESPACE\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":"
        "\"metadata.namespace\"}}},"
        "{\"name\":\"COIL_POD_ADDRESSES\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":"
        "\"status.podIPs\"}}},{\"name\":\"COIL_EGRESS_NAME\",\"value\":\"nat\"}],"
        "\"volumeMounts\":[{\"name\":\"config\",\"mountPath\":\"/etc/fingerpost\"},"
        "{\"name\":\"state\",\"mountPath\":\"/var/lib/fingerpost\"},"
        "{\"name\":\"run\",\"mountPath\":\"/run/fingerpost\"},"
        "{\"name\":\"bpf\",\"mountPath\":\"/run/bpf\","
        "\"subPathExpr\":\"fingerpost-pods/$(POD_UID)\"}],"
        "\"securityContext\":{\"runAsUser\":0,\"privileged\":false,"
        "\"allowPrivilegeEscalation\":false,\"readOnlyRootFilesystem\":true,"
        "\"capabilities\":{\"drop\":[\"ALL\"],\"add\":[\"NET_ADMIN\",\"BPF\",\"PERFMON\"]},"
        "\"seccompProfile\":{\"type\":\"RuntimeDefault\"}}}],"
        "\"volumes\":[{\"name\":\"config\",\"downwardAPI\":{\"items\":[{\"path\":\"agentd.yaml\","
        "\"fieldRef\":{\"fieldPath\":\"metadata.annotations['fingerpost.io/agentd.yaml']\"}}]}},"
        "{\"name\":\"state\",\"emptyDir\":{}},{\"name\":\"run\",\"emptyDir\":{}},"
        "{\"name\":\"bpf\",\"hostPath\":{\"path\":\"/sys/fs/bpf\",\"type\":\"Directory\"}}]}}}}");
}

static void labels_of_the_template_stand_but_for_the_selectors(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "template: {metadata: {labels: {team: a, app.kubernetes.io/instance: x}, "
                    "annotations: {note: b}}}");
    plan(fx, &deployment);
    assert_has(fx, "\"labels\":{\"team\":\"a\",\"app.kubernetes.io/name\":\"coil\","
                   "\"app.kubernetes.io/instance\":\"nat\"");
    assert_has(fx, "\"annotations\":{\"note\":\"b\",\"fingerpost.io/agentd.yaml\"");
    assert_lacks(fx, "\"x\"");
}

static void the_container_egress_is_found_by_name_or_put_in_front(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "template: {spec: {containers: [{name: side, image: s}, {name: egress}]}}");
    plan(fx, &deployment);
    assert_has(fx, "\"containers\":[{\"name\":\"side\",\"image\":\"s\"},{\"name\":\"egress\",");
    tell_egress(fx, "template: {spec: {containers: [{name: side, image: s}]}}");
    plan(fx, &deployment);
    assert_has(fx, "\"containers\":[{\"name\":\"egress\",");
    assert_has(fx, "},{\"name\":\"side\",\"image\":\"s\"}],\"volumes\"");
}

static void what_the_template_says_of_the_container_stands(void **state)
{
    struct workloads *fx = *state;
    tell_egress(
        fx, "template: {spec: {terminationGracePeriodSeconds: 5, nodeSelector: {a: 'true'}, "
            "volumes: [{name: run, hostPath: {path: /r}}], containers: [{name: egress, image: "
            "mine, args: [x], resources: {requests: {cpu: 2}}, env: [{name: POD_UID, value: u}, "
            "{name: B, value: c}], volumeMounts: [{name: run, mountPath: /run/fingerpost}]}]}}");
    plan(fx, &deployment);
    assert_has(fx, "\"terminationGracePeriodSeconds\":5,\"nodeSelector\":{\"a\":\"true\"},"
                   "\"serviceAccountName\"");
    assert_has(fx, "\"image\":\"mine\",\"args\":[\"x\"],\"resources\":{\"requests\":{\"cpu\":2}},"
                   "\"ports\"");
    assert_has(fx,
               "\"env\":[{\"name\":\"POD_UID\",\"value\":\"u\"},{\"name\":\"B\",\"value\":\"c\"},"
               "{\"name\":\"COIL_POD_NAMESPACE\"");
    assert_has(fx, "\"volumes\":[{\"name\":\"run\",\"hostPath\":{\"path\":\"/r\"}},"
                   "{\"name\":\"config\"");
    assert_lacks(fx, "\"command\":[\"/bin/sh\"");
    assert_lacks(fx, "\"name\":\"run\",\"emptyDir\"");
    assert_lacks(fx, IMAGE);
}

/* Its rights are ours to say, and its account. */
static void rights_and_account_are_not_the_templates(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "template: {spec: {serviceAccountName: admin, containers: [{name: egress, "
                    "securityContext: {privileged: true, runAsUser: 7}}]}}");
    plan(fx, &deployment);
    assert_lacks(fx, "admin");
    assert_lacks(fx, "\"privileged\":true");
    assert_has(fx, "\"securityContext\":{\"runAsUser\":0,\"privileged\":false,");
}

static void a_configuration_of_the_templates_goes_first(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "template: {metadata: {annotations: {fingerpost.io/agentd.yaml: mine}}}");
    plan(fx, &deployment);
    assert_has(fx, "\"annotations\":{\"fingerpost.io/agentd.yaml\":\"mine\"}");
}

static void a_template_that_is_none_is_told(void **state)
{
    static const char *const templates[] = {
        "metadata: []",
        "metadata: {labels: a}",
        "spec: a",
        "spec: {containers: {}}",
        "spec: {containers: [a]}",
        "spec: {volumes: [[]]}",
        "spec: {containers: [{name: egress, env: {}}]}",
        "spec: {containers: [{name: egress, volumeMounts: [a]}]}",
    };
    struct workloads *fx = *state;
    for (size_t i = 0; i < ARRAY_SIZE(templates); i++) {
        AUTOFREE char *spec = text_format("template: {%s}", templates[i]);
        tell_egress(fx, spec);
        assert_step(fx, &deployment, WORKLOAD_WRONG);
        assert_step(fx, &service, WORKLOAD_APPLY);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workloads_begin, workloads_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_template_the_pods_are_gateways),
        TEST(labels_of_the_template_stand_but_for_the_selectors),
        TEST(the_container_egress_is_found_by_name_or_put_in_front),
        TEST(what_the_template_says_of_the_container_stands),
        TEST(rights_and_account_are_not_the_templates),
        TEST(a_configuration_of_the_templates_goes_first),
        TEST(a_template_that_is_none_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
