/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a runtime asks of the plugin: its environment and the network configuration on standard
 * input, checked, as one value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cni/error.h"
#include "cni/version.h"
#include "format/doc.h"

#define CNI_DEFAULT_SOCKET "/run/fingerpost/agentd.sock"

enum {
    CNI_CONTAINER_LENGTH = 253,     /* of CNI_CONTAINERID: ours, the specification has none */
    CNI_INTERFACE_LENGTH = 15,      /* of CNI_IFNAME: the kernel's */
    CNI_CONFIG_BYTES = 4 * 1048576, /* of the configuration; GC's names all pods of the node */
};

enum cni_command { CNI_ADD, CNI_DEL, CNI_CHECK, CNI_GC, CNI_STATUS, CNI_VERSION, CNI_COMMANDS };

/* The environment, each NULL or "" where it is not set. */
struct cni_environment {
    const char *command, *container, *netns, *interface, *args;
};

struct cni_request {
    enum cni_command command;
    const struct cni_version *version;
    const char *container, *netns, *interface;      /* borrowed; "": not given, nor needed */
    const char *network;                            /* the configuration's name; borrowed */
    const char *pod_namespace, *pod_name, *pod_uid; /* of CNI_ARGS; "": not given */
    char *args;                                     /* what these point into */
    struct document *config;
    const char *asked_version;  /* of VERSION: as it was asked, whether it is spoken or not */
    const char *socket;         /* agentd's */
    bool egress_only;           /* another plugin made the interface; this one is chained to it */
    const struct doc *previous; /* prevResult; NULL: none */
    /* GC: the attachments that are in use. NULL is not told: JSON's null is Go's empty list. */
    const struct doc *live;
};

/*
 * Reads a request. The environment and `config` (NUL-terminated, of this size) are borrowed, and
 * must last as long as the request. On failure `request` has the version, as far as it was known:
 * the error's document is written in it.
 */
int cni_request_read(const struct cni_environment *environment, const char *config, size_t size,
                     struct cni_request *request, struct cni_error *error);
void cni_request_done(struct cni_request *request);
