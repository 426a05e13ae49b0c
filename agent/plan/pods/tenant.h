/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tenant: an interface of a pod that has addresses out of this node's blocks. Its identity is
 * what the kubelet's runtime calls it by, the container and the interface's name inside; the pod's
 * own name is for people.
 *
 * What the kernel shows of a tenant is the host's end of its veth pair. The end's alias is Coil's,
 * "COIL:POOL:CONTAINER:INTERFACE", so that whichever of Coil's agent and ours comes after the other
 * finds the tenants that are there.
 */
#pragma once

#include <stdbool.h>

#include "base/net/ip.h"

enum {
    TENANT_NAME_MAX = 253,     /* of containers and pools */
    TENANT_INTERFACE_MAX = 15, /* of interfaces */
    TENANT_ALIAS_LEN = 256,    /* with the NUL; the kernel's own limit (IFALIASZ) */
    TENANT_STRLEN = 280,       /* with the NUL */
};

struct tenant {
    char container[TENANT_NAME_MAX + 1];
    char interface[TENANT_INTERFACE_MAX + 1];
    char pool[TENANT_NAME_MAX + 1];
    struct ip v4, v6; /* IP_NONE: none of this family */
};

int tenant_cmp(const void *a, const void *b); /* container, interface */

/*
 * Fills in the identity. Returns 0 or -EINVAL: the container is 1 to 253 letters, digits, '.', '_'
 * and '-', the interface a name that the kernel allows without ':', the pool an object's name.
 */
int tenant_name(const char *container, const char *interface, const char *pool,
                struct tenant *ret_tenant);

/* Writes the alias. Returns 0, or -ENAMETOOLONG if the kernel could not hold it. */
int tenant_alias(const struct tenant *tenant, char alias[static TENANT_ALIAS_LEN]);
/* Reads one: true, with the tenant's identity and no addresses, if it is an alias of this form. */
bool tenant_of_alias(const char *alias, struct tenant *ret_tenant);

/* The name of the host's end, "veth" and eight hex digits: the same for the same tenant. */
void tenant_host_name(const struct tenant *tenant, char name[static TENANT_INTERFACE_MAX + 1]);

/* "container/interface", for people. */
const char *tenant_str(const struct tenant *tenant, char buffer[static TENANT_STRLEN]);
