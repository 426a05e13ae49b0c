// SPDX-License-Identifier: Apache-2.0
/*
 * The pods of an Egress: its template, with the additions for a gateway; called by
 * workload_document.c.
 *
 * The container "egress" runs agentd only as a gateway. The template's fields of it are kept,
 * except its privileges; if the template has no such container, one is inserted first. agentd.yaml
 * is an annotation of the pod, mounted as a file: a change of it causes a rollout.
 *
 * Its capabilities. NET_ADMIN: to attach the program to the pod's own eth0, and for netlink. BPF:
 * to load it and create its maps. PERFMON: the verifier requires it for comparisons and arithmetic
 * on packet pointers. It is not privileged, needs no forwarding and no init container. Its pins are
 * in a folder of the node's BPF file system only for this pod, by its uid, so that connections
 * survive the container; not below /sys, which runtimes mount read-only. When the pod ends, the
 * container's shell, the parent of the agent, runs `agentctl cleanup` to empty that folder.
 */
#include <string.h>

#include "base/macro.h"
#include "format/doc_json.h"
#include "plan/egress/workload_parts.h"

#define CONTAINER "egress"

static bool is_text(const struct doc *node, const char *text)
{
    return node && node->type == DOC_SCALAR && strcmp(node->text, text) == 0;
}

static bool is_one_of(const char *key, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(keys[i], key) == 0)
            return true;
    }
    return false;
}

/* The element of a list of maps whose member has this value; NULL: none. */
static const struct doc *find(const struct doc *list, const char *member, const char *value)
{
    doc_each(element, list) {
        if (is_text(doc_get(element, member), value))
            return element;
    }
    return NULL;
}

/* ---- What can be wrong ---- */

static bool is_list_of_maps(const struct doc *node)
{
    if (node && node->type != DOC_LIST)
        return false;
    doc_each(element, node) {
        if (element->type != DOC_MAP)
            return false;
    }
    return true;
}

static bool is_map(const struct doc *node)
{
    return !node || node->type == DOC_MAP;
}

const char *workload_template_check(const struct doc *pod_template)
{
    const struct doc *metadata = doc_get(pod_template, "metadata"),
                     *spec = doc_get(pod_template, "spec");
    const struct doc *containers = doc_get(spec, "containers");
    if (!is_map(metadata) || !is_map(doc_get(metadata, "labels")) ||
        !is_map(doc_get(metadata, "annotations")))
        return "spec.template.metadata, its labels or its annotations are no map";
    if (!is_map(spec))
        return "spec.template.spec is no map";
    if (!is_list_of_maps(containers) || !is_list_of_maps(doc_get(spec, "volumes")))
        return "spec.template.spec.containers or volumes is no list of maps";
    const struct doc *own = find(containers, "name", CONTAINER);
    if (!is_list_of_maps(doc_get(own, "env")) || !is_list_of_maps(doc_get(own, "volumeMounts")))
        return "env or volumeMounts of the container egress is no list of maps";
    return NULL;
}

/* ---- Metadata ---- */

static void write_config(struct json *json, const struct object *egress)
{
    json_stringf(json, WORKLOAD_CONFIG,
                 "source:\n  kubernetes: {}\n"
                 "routes:\n  enabled: false\n"
                 "services:\n  enabled: false\n  uplinks: [eth0]\n"
                 "egress:\n  gateway:\n    serves: [%s/%s]\n"
                 "paths:\n  bpf: /run/bpf\n"
                 "api:\n  listen: \"[::]:9394\"\n",
                 egress->namespace, egress->name);
}

static void write_metadata(struct json *json, const struct egress *egress,
                           const struct doc *pod_template)
{
    static const char *const own[] = { WORKLOAD_NAME_LABEL, WORKLOAD_INSTANCE_LABEL,
                                       WORKLOAD_COMPONENT_LABEL };
    const struct doc *metadata = doc_get(pod_template, "metadata");
    const struct doc *annotations = doc_get(metadata, "annotations");
    json_begin_object(json, "metadata");
    json_begin_object(json, "labels");
    doc_each(label, doc_get(metadata, "labels")) {
        if (!is_one_of(label->key, own, ARRAY_SIZE(own)))
            json_doc(json, label->key, label);
    }
    workload_labels_write(json, egress);
    json_end_object(json);
    json_begin_object(json, "annotations");
    doc_each(annotation, annotations)
        json_doc(json, annotation->key, annotation);
    if (!doc_get(annotations, WORKLOAD_CONFIG))
        write_config(json, &egress->object);
    json_end_object(json);
    json_end_object(json);
}

/* ---- The container ---- */

/* Defaults of the container: members as JSON. */
static const struct part {
    const char *key, *value;
} defaults[] = {
    { "ports", "[{\"name\":\"metrics\",\"containerPort\":9394}]" },
    { "readinessProbe", "{\"httpGet\":{\"path\":\"/readyz\",\"port\":9394}}" },
    { "livenessProbe",
      "{\"httpGet\":{\"path\":\"/livez\",\"port\":9394},\"initialDelaySeconds\":10}" },
    { "lifecycle", "{\"preStop\":{\"exec\":{\"command\":[\"agentctl\",\"drain\"]}}}" },
    { "resources", "{\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"},"
                   "\"limits\":{\"memory\":\"1536Mi\"}}" },
};

/* The shell ends with the agent, and cleans up only after a signal to terminate. */
static const char command[] = "[\"/bin/sh\",\"-c\"]";
static const char script[] = "agentd & agent=$!\n"
                             "trap 'kill $agent; wait $agent; agentctl cleanup; exit 0' TERM\n"
                             "wait $agent\n";

/* Replaces the template's securityContext. */
static const char rights[] =
    "{\"runAsUser\":0,\"privileged\":false,\"allowPrivilegeEscalation\":false,"
    "\"readOnlyRootFilesystem\":true,"
    "\"capabilities\":{\"drop\":[\"ALL\"],\"add\":[\"NET_ADMIN\",\"BPF\",\"PERFMON\"]},"
    "\"seccompProfile\":{\"type\":\"RuntimeDefault\"}}";

static void write_field(struct json *json, const struct doc *env, const char *name,
                        const char *field)
{
    if (find(env, "name", name))
        return;
    json_begin_object(json, NULL);
    json_string(json, "name", name);
    json_begin_object(json, "valueFrom");
    json_begin_object(json, "fieldRef");
    json_string(json, "fieldPath", field);
    json_end_object(json);
    json_end_object(json);
    json_end_object(json);
}

/* Coil's variables are for templates that were written for Coil. */
static void write_env(struct json *json, const struct doc *env, const char *egress)
{
    json_begin_array(json, "env");
    doc_each(element, env)
        json_doc(json, NULL, element);
    write_field(json, env, "POD_UID", "metadata.uid");
    write_field(json, env, "COIL_POD_NAMESPACE", "metadata.namespace");
    write_field(json, env, "COIL_POD_ADDRESSES", "status.podIPs");
    if (!find(env, "name", "COIL_EGRESS_NAME")) {
        json_begin_object(json, NULL);
        json_string(json, "name", "COIL_EGRESS_NAME");
        json_string(json, "value", egress);
        json_end_object(json);
    }
    json_end_array(json);
}

static const struct mount {
    const char *name, *path, *subpath; /* of the volume; where; NULL: all of it */
    const char *volume;                /* its other member, as JSON */
} mounts[] = {
    { "config", "/etc/fingerpost", NULL,
      "\"downwardAPI\":{\"items\":[{\"path\":\"agentd.yaml\",\"fieldRef\":"
      "{\"fieldPath\":\"metadata.annotations['" WORKLOAD_CONFIG "']\"}}]}" },
    { "state", "/var/lib/fingerpost", NULL, "\"emptyDir\":{}" },
    { "run", "/run/fingerpost", NULL, "\"emptyDir\":{}" },
    { "bpf", "/run/bpf", "fingerpost-pods/$(POD_UID)",
      "\"hostPath\":{\"path\":\"/sys/fs/bpf\",\"type\":\"Directory\"}" },
};

static void write_mounts(struct json *json, const struct doc *given)
{
    json_begin_array(json, "volumeMounts");
    doc_each(element, given)
        json_doc(json, NULL, element);
    for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
        if (find(given, "mountPath", mounts[i].path))
            continue;
        json_begin_object(json, NULL);
        json_string(json, "name", mounts[i].name);
        json_string(json, "mountPath", mounts[i].path);
        if (mounts[i].subpath)
            json_string(json, "subPathExpr", mounts[i].subpath);
        json_end_object(json);
    }
    json_end_array(json);
}

/* A volume of the template with the name of one of ours replaces it. */
static void write_volumes(struct json *json, const struct doc *given)
{
    json_begin_array(json, "volumes");
    doc_each(element, given)
        json_doc(json, NULL, element);
    for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
        if (find(given, "name", mounts[i].name))
            continue;
        AUTOFREE char *volume =
            text_format("{\"name\":\"%s\",%s}", mounts[i].name, mounts[i].volume);
        json->out->failed |= !volume;
        json_raw(json, NULL, volume ? volume : "null");
    }
    json_end_array(json);
}

static void write_script(struct json *json)
{
    json_raw(json, "command", command);
    json_begin_array(json, "args");
    json_string(json, NULL, script);
    json_end_array(json);
}

/* `given`: the template's container; NULL: none. */
static void write_container(struct json *json, const struct egress *egress, const struct doc *given,
                            const char *image)
{
    static const char *const own[] = { "name", "env", "volumeMounts", "securityContext" };
    json_begin_object(json, NULL);
    json_string(json, "name", CONTAINER);
    doc_each(member, given) {
        if (!is_one_of(member->key, own, ARRAY_SIZE(own)))
            json_doc(json, member->key, member);
    }
    if (!doc_get(given, "image"))
        json_string(json, "image", image);
    if (!doc_get(given, "command") && !doc_get(given, "args"))
        write_script(json);
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
        if (!doc_get(given, defaults[i].key))
            json_raw(json, defaults[i].key, defaults[i].value);
    }
    write_env(json, doc_get(given, "env"), egress->object.name);
    write_mounts(json, doc_get(given, "volumeMounts"));
    json_raw(json, "securityContext", rights);
    json_end_object(json);
}

static void write_containers(struct json *json, const struct egress *egress,
                             const struct doc *containers, const char *image)
{
    const struct doc *given = find(containers, "name", CONTAINER);
    json_begin_array(json, "containers");
    if (!given)
        write_container(json, egress, NULL, image);
    doc_each(element, containers) {
        if (element == given)
            write_container(json, egress, given, image);
        else
            json_doc(json, NULL, element);
    }
    json_end_array(json);
}

void workload_pod_write(struct json *json, const struct egress *egress,
                        const struct doc *pod_template, const char *image)
{
    enum { GRACE_S = 90 }; /* a drain, a minute by default, and the cleanup after it */
    static const char *const own[] = { "containers", "volumes", "serviceAccountName",
                                       "serviceAccount" };
    const struct doc *spec = doc_get(pod_template, "spec");
    json_begin_object(json, "template");
    write_metadata(json, egress, pod_template);
    json_begin_object(json, "spec");
    doc_each(member, spec) {
        if (!is_one_of(member->key, own, ARRAY_SIZE(own)))
            json_doc(json, member->key, member);
    }
    json_string(json, "serviceAccountName", WORKLOAD_ACCOUNT);
    if (!doc_get(spec, "terminationGracePeriodSeconds"))
        json_int(json, "terminationGracePeriodSeconds", GRACE_S);
    write_containers(json, egress, doc_get(spec, "containers"), image);
    write_volumes(json, doc_get(spec, "volumes"));
    json_end_object(json);
    json_end_object(json);
}
