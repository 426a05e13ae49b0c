/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent knows of a pod interface beside its addresses, what is asked for one, and what is
 * answered: values that the pods engine and the API share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plan/pods/pod_interface.h"

enum {
    POD_NAMESPACE_LEN = 64,
    POD_UID_LEN = 64,
};

/* What is known of a pod interface. Begins with the pod interface, so that pod_interface_cmp()
 * orders them. */
struct pod_attachment {
    struct pod_interface pod_interface;
    char namespace[POD_NAMESPACE_LEN], name[POD_INTERFACE_NAME_MAX + 1],
        uid[POD_UID_LEN]; /* "": unknown */
    char network[POD_INTERFACE_NAME_MAX +
                 1];       /* CNI's name of it; "": nobody has said, or it is lost */
    uint32_t ifindex;      /* the host's end; 0: there is none yet */
    uint32_t mtu;          /* of the host's end, as it was first seen once wired; 0: not seen yet */
    uint8_t mac[6];        /* likewise; the pod knows its gateways by it */
    int64_t promised_ms;   /* monotonic: when the addresses were promised */
    int64_t since_wall_ms; /* since when this agent knows of it */
    int64_t down_ms;       /* monotonic: since when an end is down; 0: both are up */
    int64_t unknown_ms;    /* monotonic: since when no Pod in the API has it; 0: one has */
    bool routed;           /* a route to each address stands */
    bool wired;            /* agent-cni has done its part, or an earlier agent saw to it */
};

/* Whose interface is to be made. Texts are borrowed. */
struct pod_request {
    const char *container, *interface;
    const char *namespace, *name, *uid;
    const char *network; /* "": not told */
    bool egress_only;    /* another plugin made it, and gave these: */
    struct ip v4, v6;    /* IP_NONE: none */
};

/* Why there is no address now, or never. */
enum pod_refusal {
    POD_GRANTED,
    POD_OFF,        /* pods.enabled is false */
    POD_EARLY,      /* nothing is known of the node's blocks and links yet */
    POD_NAMESPACE,  /* the source has not told of the pod's Namespace yet */
    POD_FULL,       /* no address of its pool is free on this node */
    POD_RESTING,    /* those that are free were freed less than pods.leastRest ago */
    POD_NO_POOL,    /* there is no such AddressPool */
    POD_EXHAUSTED,  /* nor can this node have another block of it */
    POD_OTHER,      /* the container's interface is another pod's */
    POD_EGRESS_OFF, /* egress is off on this node */
    POD_BAD_NAME,   /* the kernel could not hold the names */
    POD_MEMORY,
};

struct pod_grant {
    struct pod_attachment attachment;           /* of what is POD_FULL: the pool alone */
    char host[POD_INTERFACE_INTERFACE_MAX + 1]; /* the name of the host's end */
    char alias[POD_INTERFACE_ALIAS_LEN];
    uint32_t mtu;
};

/* What is missing until a pod that was wired is served. */
enum pod_lack {
    POD_SERVED,
    POD_UNKNOWN, /* no such pod interface, or it has no addresses (any more) */
    POD_NO_LINK,
    POD_NO_ROUTE,
    POD_NO_NAT,    /* service NAT's programs are not on the host's end */
    POD_NO_EGRESS, /* nor those of egress */
    POD_UNREAD,    /* how it leaves the cluster is not known: the Pod is not */
};
