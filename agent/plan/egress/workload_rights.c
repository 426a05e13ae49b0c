// SPDX-License-Identifier: Apache-2.0
/*
 * Fields of a template that give its author privileges on nodes; called by workload.c.
 *
 * A user who may create Egresses need not have the right to create any pod: the controller creates
 * these pods with its own permissions. Templates may not use what the Pod Security Standard
 * "baseline" forbids, nor select a node, which bypasses the scheduler. For the container "egress",
 * which has NET_ADMIN, BPF and PERFMON on its node, a template can't choose the code that runs in
 * it: with BPF and PERFMON a program can read the node's memory.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/text.h"
#include "config/template_rights.h"
#include "plan/egress/workload_parts.h"

#define CONTAINER "egress"
#define BPF       "bpf" /* our volume: the node's BPF file system */

static bool is_text(const struct doc *node, const char *text)
{
    return node && node->type == DOC_SCALAR && strcmp(node->text, text) == 0;
}

static bool is_true(const struct doc *node)
{
    return is_text(node, "true");
}

static bool is_among(const struct doc *node, const char *const *words)
{
    for (; *words; words++) {
        if (is_text(node, *words))
            return true;
    }
    return false;
}

static const struct doc *named(const struct doc *list, const char *name)
{
    doc_each(element, list) {
        if (is_text(doc_get(element, "name"), name))
            return element;
    }
    return NULL;
}

/* ---- Of the pod ---- */

static bool has_host_path(const struct doc *spec)
{
    doc_each(volume, doc_get(spec, "volumes")) {
        if (doc_get(volume, "hostPath"))
            return true;
    }
    return false;
}

static bool has_host_network(const struct doc *spec)
{
    return is_true(doc_get(spec, "hostNetwork"));
}

static bool has_host_pid(const struct doc *spec)
{
    return is_true(doc_get(spec, "hostPID"));
}

static bool has_host_ipc(const struct doc *spec)
{
    return is_true(doc_get(spec, "hostIPC"));
}

static bool has_node_name(const struct doc *spec)
{
    return doc_get(spec, "nodeName") != NULL;
}

/* The safe sysctls, which are namespaced and do not affect other pods. */
static bool has_sysctls(const struct doc *spec)
{
    static const char *const safe[] = { "kernel.shm_rmid_forced",
                                        "net.ipv4.ip_local_port_range",
                                        "net.ipv4.ip_local_reserved_ports",
                                        "net.ipv4.ip_unprivileged_port_start",
                                        "net.ipv4.ping_group_range",
                                        "net.ipv4.tcp_fin_timeout",
                                        "net.ipv4.tcp_keepalive_intvl",
                                        "net.ipv4.tcp_keepalive_probes",
                                        "net.ipv4.tcp_keepalive_time",
                                        "net.ipv4.tcp_syncookies",
                                        NULL };
    doc_each(sysctl, doc_get(doc_get(spec, "securityContext"), "sysctls")) {
        if (!is_among(doc_get(sysctl, "name"), safe))
            return true;
    }
    return false;
}

/* ---- Of a security context, the pod's or a container's ---- */

static bool is_unconfined_context(const struct doc *context)
{
    static const char *const types[] = {
        "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t", NULL
    };
    const struct doc *linux_options = doc_get(context, "seLinuxOptions");
    const struct doc *type = doc_get(linux_options, "type");
    return is_text(doc_get(doc_get(context, "seccompProfile"), "type"), "Unconfined") ||
           is_text(doc_get(doc_get(context, "appArmorProfile"), "type"), "Unconfined") ||
           (type && !is_among(type, types)) || doc_get(linux_options, "user") ||
           doc_get(linux_options, "role");
}

static bool is_host_process(const struct doc *context)
{
    return is_true(doc_get(doc_get(context, "windowsOptions"), "hostProcess"));
}

static bool is_unconfined_pod(const struct doc *spec)
{
    return is_unconfined_context(doc_get(spec, "securityContext"));
}

static bool is_host_process_pod(const struct doc *spec)
{
    return is_host_process(doc_get(spec, "securityContext"));
}

/*
 * ---- Of a container; `own`: the privileged one, whose securityContext the template can't set ----
 */

static const struct doc *context_of(const struct doc *container, bool own)
{
    return own ? NULL : doc_get(container, "securityContext"); /* ours is used */
}

static bool is_unconfined(const struct doc *container, bool own)
{
    return is_unconfined_context(context_of(container, own));
}

static bool is_host_process_container(const struct doc *container, bool own)
{
    return is_host_process(context_of(container, own));
}

static bool is_privileged(const struct doc *container, bool own)
{
    return is_true(doc_get(context_of(container, own), "privileged"));
}

static bool has_proc_mount(const struct doc *container, bool own)
{
    const struct doc *mount = doc_get(context_of(container, own), "procMount");
    return mount && !is_text(mount, "Default");
}

/* Runtimes grant these by default. */
static bool has_capabilities(const struct doc *container, bool own)
{
    static const char *const usual[] = { "AUDIT_WRITE",      "CHOWN",  "DAC_OVERRIDE", "FOWNER",
                                         "FSETID",           "KILL",   "MKNOD",        "SETFCAP",
                                         "NET_BIND_SERVICE", "SETGID", "SETPCAP",      "SETUID",
                                         "SYS_CHROOT",       NULL };
    doc_each(capability, doc_get(doc_get(context_of(container, own), "capabilities"), "add")) {
        if (!is_among(capability, usual))
            return true;
    }
    return false;
}

static bool has_host_ports(const struct doc *container, bool own)
{
    (void)own;
    doc_each(port, doc_get(container, "ports")) {
        const struct doc *host = doc_get(port, "hostPort");
        if (host && !is_text(host, "0"))
            return true;
    }
    return false;
}

/* The kubelet would send requests to any host, from the node. */
static bool asks_host(const struct doc *handler)
{
    return doc_get(doc_get(handler, "httpGet"), "host") ||
           doc_get(doc_get(handler, "tcpSocket"), "host");
}

static const char *const probes[] = { "livenessProbe", "readinessProbe", "startupProbe" };

static bool has_host_probes(const struct doc *container, bool own)
{
    (void)own;
    const struct doc *lifecycle = doc_get(container, "lifecycle");
    for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
        if (asks_host(doc_get(container, probes[i])))
            return true;
    }
    return asks_host(doc_get(lifecycle, "postStart")) || asks_host(doc_get(lifecycle, "preStop"));
}

/* Our own volume, mounted without a subPath by another container. */
static bool mounts_bpf(const struct doc *container, bool own)
{
    return !own && named(doc_get(container, "volumeMounts"), BPF) != NULL;
}

/* ---- Of the privileged container ---- */

static bool has_image(const struct doc *container, bool own)
{
    return own && doc_get(container, "image");
}

/* The last one identifies the pod's pins. */
static bool is_env_of_ours(const struct doc *name)
{
    static const char *const words[] = { "PATH", "ENV", "BASH_ENV", "POD_UID", NULL };
    return is_among(name, words) ||
           (name && name->type == DOC_SCALAR && strncmp(name->text, "LD_", 3) == 0);
}

static bool has_command(const struct doc *container, bool own)
{
    static const char *const members[] = { "command", "args", "lifecycle", "envFrom" };
    for (size_t i = 0; own && i < ARRAY_SIZE(members); i++) {
        if (doc_get(container, members[i]))
            return true;
    }
    for (size_t i = 0; own && i < ARRAY_SIZE(probes); i++) {
        if (doc_get(doc_get(container, probes[i]), "exec"))
            return true;
    }
    doc_each(variable, own ? doc_get(container, "env") : NULL) {
        if (is_env_of_ours(doc_get(variable, "name")))
            return true;
    }
    return false;
}

static bool has_volume_mounts(const struct doc *container, bool own)
{
    return own && (doc_get(container, "volumeMounts") || doc_get(container, "volumeDevices"));
}

/* Volumes that would replace ours and be mounted instead. */
static bool has_own_volumes(const struct doc *spec)
{
    static const char *const own[] = { "config", "state", "run", BPF };
    for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
        if (named(doc_get(spec, "volumes"), own[i]))
            return true;
    }
    return false;
}

/* ---- All of it ---- */

static const struct row {
    enum template_right right;
    bool (*of_spec)(const struct doc *spec);
    bool (*of_container)(const struct doc *container, bool own);
    const char *has; /* "spec.template has ..." */
} rows[] = {
    { TEMPLATE_HOST_PATH, has_host_path, mounts_bpf, "folders of the node (hostPath)" },
    { TEMPLATE_HOST_NETWORK, has_host_network, NULL, "hostNetwork" },
    { TEMPLATE_HOST_PID, has_host_pid, NULL, "hostPID" },
    { TEMPLATE_HOST_IPC, has_host_ipc, NULL, "hostIPC" },
    { TEMPLATE_HOST_PORTS, NULL, has_host_ports, "a hostPort" },
    { TEMPLATE_HOST_PROBES, NULL, has_host_probes, "a probe or hook that asks another host" },
    { TEMPLATE_HOST_PROCESS, is_host_process_pod, is_host_process_container, "hostProcess" },
    { TEMPLATE_NODE_NAME, has_node_name, NULL, "nodeName (past the scheduler)" },
    { TEMPLATE_PRIVILEGED, NULL, is_privileged, "a privileged container" },
    { TEMPLATE_CAPABILITIES, NULL, has_capabilities, "added capabilities" },
    { TEMPLATE_PROC_MOUNT, NULL, has_proc_mount, "a procMount that is not Default" },
    { TEMPLATE_UNCONFINED, is_unconfined_pod, is_unconfined,
      "seccomp or AppArmor taken off, or SELinux options" },
    { TEMPLATE_SYSCTLS, has_sysctls, NULL, "sysctls that Kubernetes does not call safe" },
    { TEMPLATE_IMAGE, NULL, has_image,
      "an image for the container egress, which has rights on its node" },
    { TEMPLATE_COMMAND, NULL, has_command,
      "what runs in the container egress (command, args, a hook, a probe with exec, envFrom, or PATH, LD_ or POD_UID in env)" },
    { TEMPLATE_VOLUME_MOUNTS, has_own_volumes, has_volume_mounts,
      "volumes for the container egress" },
};
_Static_assert(ARRAY_SIZE(rows) == TEMPLATE_RIGHTS, "each right has a row");

static bool is_in_containers(const struct row *row, const struct doc *spec)
{
    static const char *const lists[] = { "containers", "initContainers" };
    const struct doc *own = named(doc_get(spec, lists[0]), CONTAINER);
    for (size_t i = 0; row->of_container && i < ARRAY_SIZE(lists); i++) {
        doc_each(container, doc_get(spec, lists[i])) {
            if (row->of_container(container, container == own))
                return true;
        }
    }
    return false;
}

/* AppArmor's annotations of a container, from before there was a field. */
static bool has_apparmor_off(const struct doc *pod_template)
{
    static const char prefix[] = "container.apparmor.security.beta.kubernetes.io/";
    doc_each(annotation, doc_get(doc_get(pod_template, "metadata"), "annotations")) {
        if (strncmp(annotation->key, prefix, strlen(prefix)) == 0 &&
            is_text(annotation, "unconfined"))
            return true;
    }
    return false;
}

static bool asks_for(const struct row *row, const struct doc *pod_template)
{
    const struct doc *spec = doc_get(pod_template, "spec");
    return (row->of_spec && row->of_spec(spec)) || is_in_containers(row, spec) ||
           (row->right == TEMPLATE_UNCONFINED && has_apparmor_off(pod_template));
}

bool workload_template_excess(const struct doc *pod_template, uint32_t allowed,
                              struct workload_plan *plan)
{
    static const char *const names[] = { TEMPLATE_RIGHT_NAMES };
    AUTOTEXT struct text list = { 0 }, rights = { 0 };
    bool any = false;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        if (allowed & UINT32_C(1) << row->right || !asks_for(row, pod_template))
            continue;
        text_addf(&list, "%s%s", any ? ", " : "", row->has);
        text_addf(&rights, "%s%s", any ? ", " : "", names[row->right]);
        any = true;
    }
    snprintf(
        plan->excess, sizeof(plan->excess),
        "spec.template has %s; the Deployment is not written meanwhile, nor are replicas followed",
        text_str(&list));
    snprintf(plan->names, sizeof(plan->names),
             "take it out of the Egress' spec.template; or whoever runs the cluster allows it in "
             "controller.yaml: egress.template.allow: [%s]",
             text_str(&rights));
    return any;
}
