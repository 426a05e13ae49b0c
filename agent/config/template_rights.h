/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an Egress's spec.template may ask for only if an administrator allows it by this name
 * (egress.template.allow of controller.yaml). plan/egress/workload_rights.c says what each one is.
 */
#pragma once

enum template_right {
    TEMPLATE_HOST_PATH,
    TEMPLATE_HOST_NETWORK,
    TEMPLATE_HOST_PID,
    TEMPLATE_HOST_IPC,
    TEMPLATE_HOST_PORTS,
    TEMPLATE_HOST_PROBES,
    TEMPLATE_HOST_PROCESS,
    TEMPLATE_NODE_NAME,
    TEMPLATE_PRIVILEGED,
    TEMPLATE_CAPABILITIES,
    TEMPLATE_PROC_MOUNT,
    TEMPLATE_UNCONFINED,
    TEMPLATE_SYSCTLS,
    TEMPLATE_IMAGE,
    TEMPLATE_COMMAND,
    TEMPLATE_VOLUME_MOUNTS,
    TEMPLATE_RIGHTS,
};

/* Their names in the file, in this order. */
#define TEMPLATE_RIGHT_NAMES                                                                     \
    "hostPath", "hostNetwork", "hostPID", "hostIPC", "hostPorts", "hostProbes", "hostProcess",   \
        "nodeName", "privileged", "capabilities", "procMount", "unconfined", "sysctls", "image", \
        "command", "volumeMounts"
