/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod interface: an interface of a pod that has addresses from this node's blocks. Its identity
 * is that of CNI: the container ID and the interface's name inside; the pod's name is
 * informational.
 *
 * In the kernel a pod interface is visible as the host's end of its veth pair. The alias of that
 * end has Coil's format, "COIL:POOL:CONTAINER:INTERFACE", so that Coil's agent and ours can replace
 * each other and find the existing pod interfaces.
 */
#pragma once

#include <stdbool.h>

#include "base/net/ip.h"

enum {
    POD_INTERFACE_NAME_MAX = 253,     /* of containers and pools */
    POD_INTERFACE_INTERFACE_MAX = 15, /* of interfaces */
    POD_INTERFACE_ALIAS_LEN = 256,    /* with the NUL; the kernel's own limit (IFALIASZ) */
    POD_INTERFACE_STRLEN = 280,       /* with the NUL */
};

struct pod_interface {
    char container[POD_INTERFACE_NAME_MAX + 1];
    char interface[POD_INTERFACE_INTERFACE_MAX + 1];
    char pool[POD_INTERFACE_NAME_MAX + 1];
    struct ip v4, v6; /* IP_NONE: none of this family */
};

int pod_interface_cmp(const void *a, const void *b); /* container, interface */

/*
 * Fills in the identity. Returns 0 or -EINVAL: the container is 1 to 253 letters, digits, '.', '_'
 * and '-', the interface a name that the kernel allows without ':', the pool an object's name.
 */
int pod_interface_name(const char *container, const char *interface, const char *pool,
                       struct pod_interface *ret_pod_interface);

/* Writes the alias. Returns 0, or -ENAMETOOLONG if it is too long for the kernel. */
int pod_interface_alias(const struct pod_interface *pod_interface,
                        char alias[static POD_INTERFACE_ALIAS_LEN]);
/* Parses an alias: true, with the pod interface's identity and no addresses, if it is an alias of
 * this form. */
bool pod_interface_of_alias(const char *alias, struct pod_interface *ret_pod_interface);

/* The name of the host's end, "veth" and eight hex digits: the same for the same pod interface. */
void pod_interface_host_name(const struct pod_interface *pod_interface,
                             char name[static POD_INTERFACE_INTERFACE_MAX + 1]);

/* "container/interface", for messages. */
const char *pod_interface_str(const struct pod_interface *pod_interface,
                              char buffer[static POD_INTERFACE_STRLEN]);
