// SPDX-License-Identifier: Apache-2.0
/* The pods of an Egress: what the template says, and what makes gateways of them. */
#include "base/macro.h"
#include "config/template_rights.h"
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
    fx->allowed = UINT32_MAX;
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

/* By right, what asks for it; `spec.template.spec`, or all of the template where it begins with a
 * brace. Each alone is refused, and its name lets just that through. */
static const struct excess {
    enum template_right right;
    const char *text;
} excesses[] = {
    { TEMPLATE_HOST_PATH, "volumes: [{name: a, hostPath: {path: /}}]" },
    { TEMPLATE_HOST_PATH, "containers: [{name: s, volumeMounts: [{name: bpf, mountPath: /b}]}]" },
    { TEMPLATE_HOST_PATH, "initContainers: [{name: s, volumeMounts: [{name: bpf}]}]" },
    { TEMPLATE_HOST_NETWORK, "hostNetwork: true" },
    { TEMPLATE_HOST_PID, "hostPID: true" },
    { TEMPLATE_HOST_IPC, "hostIPC: true" },
    { TEMPLATE_HOST_PORTS, "containers: [{name: s, ports: [{containerPort: 1, hostPort: 1}]}]" },
    { TEMPLATE_HOST_PORTS, "containers: [{name: egress, ports: [{hostPort: 80}]}]" },
    { TEMPLATE_HOST_PROBES,
      "containers: [{name: s, livenessProbe: {httpGet: {host: 10.0.0.1, port: 1}}}]" },
    { TEMPLATE_HOST_PROBES,
      "containers: [{name: s, lifecycle: {preStop: {tcpSocket: {host: 10.0.0.1}}}}]" },
    { TEMPLATE_HOST_PROCESS, "securityContext: {windowsOptions: {hostProcess: true}}" },
    { TEMPLATE_HOST_PROCESS,
      "containers: [{name: s, securityContext: {windowsOptions: {hostProcess: true}}}]" },
    { TEMPLATE_NODE_NAME, "nodeName: node1" },
    { TEMPLATE_PRIVILEGED, "containers: [{name: s, securityContext: {privileged: true}}]" },
    { TEMPLATE_PRIVILEGED, "initContainers: [{name: s, securityContext: {privileged: true}}]" },
    { TEMPLATE_PRIVILEGED,
      "initContainers: [{name: egress, securityContext: {privileged: true}}]" },
    { TEMPLATE_PRIVILEGED,
      "containers: [{name: egress}, {name: egress, securityContext: {privileged: true}}]" },
    { TEMPLATE_CAPABILITIES,
      "containers: [{name: s, securityContext: {capabilities: {add: [KILL, SYS_ADMIN]}}}]" },
    { TEMPLATE_CAPABILITIES,
      "initContainers: [{name: s, securityContext: {capabilities: {add: [NET_RAW]}}}]" },
    { TEMPLATE_PROC_MOUNT, "containers: [{name: s, securityContext: {procMount: Unmasked}}]" },
    { TEMPLATE_UNCONFINED, "securityContext: {seccompProfile: {type: Unconfined}}" },
    { TEMPLATE_UNCONFINED,
      "containers: [{name: s, securityContext: {appArmorProfile: {type: Unconfined}}}]" },
    { TEMPLATE_UNCONFINED, "securityContext: {seLinuxOptions: {type: spc_t}}" },
    { TEMPLATE_UNCONFINED, "{metadata: {annotations: "
                           "{container.apparmor.security.beta.kubernetes.io/s: unconfined}}}" },
    { TEMPLATE_SYSCTLS, "securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}" },
    { TEMPLATE_IMAGE, "containers: [{name: egress, image: mine}]" },
    { TEMPLATE_COMMAND, "containers: [{name: egress, command: [sh]}]" },
    { TEMPLATE_COMMAND, "containers: [{name: egress, args: [sh]}]" },
    { TEMPLATE_COMMAND, "containers: [{name: egress, lifecycle: {postStart: {exec: {}}}}]" },
    { TEMPLATE_COMMAND, "containers: [{name: egress, livenessProbe: {exec: {command: [a]}}}]" },
    { TEMPLATE_COMMAND, "containers: [{name: egress, envFrom: [{configMapRef: {name: a}}]}]" },
    { TEMPLATE_COMMAND, "containers: [{name: egress, env: [{name: LD_PRELOAD, value: a}]}]" },
    { TEMPLATE_COMMAND, "containers: [{name: egress, env: [{name: POD_UID, value: ''}]}]" },
    { TEMPLATE_VOLUME_MOUNTS, "containers: [{name: egress, volumeMounts: [{name: a}]}]" },
    { TEMPLATE_VOLUME_MOUNTS, "volumes: [{name: state, configMap: {name: a}}]" },
};

static void what_gives_rights_on_nodes_is_refused_until_it_is_allowed(void **state)
{
    static const char *const names[] = { TEMPLATE_RIGHT_NAMES };
    struct workloads *fx = *state;
    uint32_t tried = 0;
    for (size_t i = 0; i < ARRAY_SIZE(excesses); i++) {
        const struct excess *it = &excesses[i];
        AUTOFREE char *spec = *it->text == '{' ? text_format("template: %s", it->text)
                                               : text_format("template: {spec: {%s}}", it->text);
        AUTOFREE char *remedy = text_format("egress.template.allow: [%s]", names[it->right]);
        tell_egress(fx, spec);
        fx->allowed = ~(UINT32_C(1) << it->right);
        assert_step(fx, &deployment, WORKLOAD_WRONG);
        assert_non_null(strstr(fx->plan.remedy, remedy));
        assert_step(fx, &service, WORKLOAD_APPLY);
        fx->allowed = UINT32_C(1) << it->right;
        assert_step(fx, &deployment, WORKLOAD_APPLY);
        tried |= fx->allowed;
    }
    assert_int_equal(tried, (UINT32_C(1) << TEMPLATE_RIGHTS) - 1);
}

/* All at once: whoever mends one would else read of the next. */
static void all_that_is_too_much_is_told_at_once(void **state)
{
    struct workloads *fx = *state;
    AUTOFREE char *spec =
        text_format("replicas: 3, template: {spec: {hostPID: true, volumes: [{name: "
                    "a, hostPath: {path: /}}], containers: [{name: s, "
                    "securityContext: {privileged: true}}]}}");
    tell_egress(fx, spec);
    fx->allowed = UINT32_C(1) << TEMPLATE_IMAGE;
    assert_step(fx, &deployment, WORKLOAD_WRONG);
    assert_string_equal(fx->plan.why,
                        "spec.template has folders of the node (hostPath), hostPID, a "
                        "privileged container; the Deployment is not written "
                        "meanwhile, nor are replicas followed");
    assert_non_null(strstr(fx->plan.remedy, "allow: [hostPath, hostPID, privileged]"));
    fx->allowed |= UINT32_C(1) << TEMPLATE_HOST_PID;
    assert_step(fx, &deployment, WORKLOAD_WRONG);
    assert_non_null(strstr(fx->plan.remedy, "allow: [hostPath, privileged]"));
}

/* However much it is, the words are whole. */
static void everything_at_once_is_told_whole(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "template: {metadata: {annotations: {container.apparmor.security.beta."
                    "kubernetes.io/s: unconfined}}, spec: {hostNetwork: true, hostPID: true, "
                    "hostIPC: true, nodeName: a, volumes: [{name: a, hostPath: {path: /}}, {name: "
                    "run}], securityContext: {sysctls: [{name: kernel.msgmax}], windowsOptions: "
                    "{hostProcess: true}}, containers: [{name: s, ports: [{hostPort: 1}], "
                    "livenessProbe: {httpGet: {host: a}}, securityContext: {privileged: true, "
                    "procMount: Unmasked, capabilities: {add: [SYS_ADMIN]}}}, {name: egress, "
                    "image: a, command: [b]}]}}");
    fx->allowed = 0;
    assert_step(fx, &deployment, WORKLOAD_WRONG);
    assert_non_null(strstr(fx->plan.why, "replicas followed"));
    assert_non_null(strstr(fx->plan.remedy, "volumeMounts]"));
}

static void what_any_pod_may_have_is_taken(void **state)
{
    static const char *const specs[] = {
        "nodeSelector: {a: b}, tolerations: [{operator: Exists}], priorityClassName: a",
        "hostNetwork: false, hostPID: false, hostUsers: false, runtimeClassName: kata",
        "volumes: [{name: a, emptyDir: {}}, {name: b, secret: {secretName: s}}]",
        "containers: [{name: s, image: a, command: [b], volumeMounts: [{name: a}], env: []}]",
        "containers: [{name: s, securityContext: {privileged: false, runAsUser: 0, procMount: "
        "Default, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}, ports: [{hostPort: 0}]}]",
        "containers: [{name: s, livenessProbe: {httpGet: {port: 80}, exec: {command: [a]}}}]",
        "securityContext: {sysctls: [{name: net.ipv4.tcp_syncookies, value: '1'}], "
        "seccompProfile: {type: RuntimeDefault}, seLinuxOptions: {level: s0, type: container_t}}",
        "containers: [{name: egress, resources: {}, env: [{name: A, value: b}], livenessProbe: "
        "{httpGet: {path: /livez, port: 9394}}, securityContext: {privileged: true}}]",
    };
    struct workloads *fx = *state;
    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        AUTOFREE char *spec = text_format("template: {spec: {%s}}", specs[i]);
        tell_egress(fx, spec);
        assert_step(fx, &deployment, WORKLOAD_APPLY);
    }
}

/* Gateways that run are not taken away because their template is refused now. */
static void what_was_made_before_stays(void **state)
{
    struct workloads *fx = *state;
    tell_egress(fx, "template: {spec: {hostPID: true}}");
    tell(fx, KIND_DEPLOYMENT, "metadata: {" NAMED ", " OWNED("e1") "}\nspec: {}\n");
    assert_step(fx, &deployment, WORKLOAD_WRONG);
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
        TEST(what_gives_rights_on_nodes_is_refused_until_it_is_allowed),
        TEST(all_that_is_too_much_is_told_at_once),
        TEST(everything_at_once_is_told_whole),
        TEST(what_any_pod_may_have_is_taken),
        TEST(what_was_made_before_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
