/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod interface's state beside its addresses, the request for one, and the response: values that
 * the pods engine and the API share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "plan/pods/pod_interface.h"

enum {
    POD_NAMESPACE_LEN = 64,
    POD_UID_LEN = 64,
};

/* The state of a pod interface. Begins with the pod interface, so that pod_interface_cmp() orders
 * them. */
struct pod_attachment {
    struct pod_interface pod_interface;
    char namespace[POD_NAMESPACE_LEN], name[POD_INTERFACE_NAME_MAX + 1],
        uid[POD_UID_LEN]; /* "": unknown */
    char network[POD_INTERFACE_NAME_MAX +
                 1];       /* CNI's name of it; "": nobody has said, or it is lost */
    uint32_t ifindex;      /* the host's end; 0: there is none yet */
    uint32_t mtu;          /* of the host's end, when first seen after wiring; 0: not seen yet */
    uint8_t mac[6];        /* likewise; the address of the pod's gateways */
    int64_t promised_ms;   /* monotonic: when the addresses were promised */
    int64_t since_wall_ms; /* since when this agent has it */
    int64_t down_ms;       /* monotonic: since when an end is down; 0: both are up */
    int64_t unknown_ms;    /* monotonic: since when no Pod in the API has it; 0: one has */
    bool routed;           /* a route to each address is installed */
    bool wired;            /* agent-cni has finished its part, or did so with an earlier agent */
};

/* The interface to create. Texts are borrowed. */
struct pod_request {
    const char *container, *interface;
    const char *namespace, *name, *uid;
    const char *network; /* "": not given */
    bool egress_only;    /* another plugin created it, with these addresses: */
    struct ip v4, v6;    /* IP_NONE: none */
};

/* Why there is no address, now or permanently. */
enum pod_refusal {
    POD_GRANTED,
    POD_OFF,        /* pods.enabled is false */
    POD_EARLY,      /* the node's blocks and links are not known yet */
    POD_NAMESPACE,  /* the source has not received the pod's Namespace yet */
    POD_FULL,       /* no address of its pool is free on this node */
    POD_RESTING,    /* all free ones were freed less than pods.leastRest ago */
    POD_NO_POOL,    /* there is no such AddressPool */
    POD_EXHAUSTED,  /* nor can this node get another block of it */
    POD_OTHER,      /* the container's interface belongs to another pod */
    POD_EGRESS_OFF, /* egress is off on this node */
    POD_BAD_NAME,   /* the names are too long for the kernel */
    POD_MEMORY,
};

struct pod_grant {
    struct pod_attachment attachment;           /* with POD_FULL: only the pool */
    char host[POD_INTERFACE_INTERFACE_MAX + 1]; /* the name of the host's end */
    char alias[POD_INTERFACE_ALIAS_LEN];
    uint32_t mtu;
};

/* What is missing until a wired pod is served. */
enum pod_lack {
    POD_SERVED,
    POD_UNKNOWN, /* no such pod interface, or it has no addresses (any longer) */
    POD_NO_LINK,
    POD_NO_ROUTE,
    POD_NO_NAT,    /* service NAT's programs are not on the host's end */
    POD_NO_EGRESS, /* nor those of egress */
    POD_UNREAD,    /* its egress policy is unknown, since the Pod is */
};
