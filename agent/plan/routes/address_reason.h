/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why an address is announced, or is not. The words are part of the API: `agentctl explain`, the
 * documents and the metrics use them.
 */
#pragma once

/*
 * Why an address is announced, or not. In the order in which a claim is checked: where several
 * Services have an address, the row's reason is that of the claim that passed the most checks.
 */
enum address_reason {
    REASON_WRONG_TYPE,          /* the Service's type has no such address (any longer) */
    REASON_HEADLESS,            /* no clusterIP (of the family): no proxy serves its addresses */
    REASON_OTHER_PROXY,         /* service-proxy-name or headless label: another proxy's */
    REASON_SPECIAL,             /* loopback, link-local, multicast, unspecified */
    REASON_PROXY_MODE,          /* ipMode Proxy */
    REASON_OUTSIDE_RANGES,      /* not in services.externalIPs or loadBalancerIPs, or of no pool */
    REASON_IN_SERVICE_CIDR,     /* an external IP that is a ClusterIP or in serviceCIDRs */
    REASON_PORTS_TAKEN,         /* each of its ports belongs to an older service here */
    REASON_OTHER_CLASS,         /* another loadBalancerClass */
    REASON_NOT_ADVERTISED,      /* services.advertise excludes this kind of address */
    REASON_OPTED_OUT,           /* annotation fingerpost.io/announce: "false" */
    REASON_NO_ADVERTISEMENT,    /* no BGPAdvertisement selects its pool and the Service */
    REASON_L2_ONLY,             /* only an L2Advertisement does */
    REASON_OTHER_NODES,         /* those that do are for other nodes */
    REASON_NODE_ADDRESS,        /* it is a Node's address */
    REASON_LOCAL_ADDRESS,       /* it is on an interface of this node */
    REASON_CONNECTED_NETWORK,   /* it is in a network that this node is connected to */
    REASON_NODE_NETWORK,        /* it is probably in another Node's network */
    REASON_POD_NETWORK,         /* it is in one of services.clusterCIDRs */
    REASON_SERVICE_NETWORK,     /* a load balancer's, in one of services.serviceCIDRs */
    REASON_CLAIMED,             /* one node of its segment has it on an interface: no route */
    REASON_NODE_GONE,           /* this node's Node object was deleted */
    REASON_WITHDRAWN,           /* by the operator: withdraw, or the end of drain */
    REASON_NODE_EXCLUDED,       /* label exclude-from-external-load-balancers */
    REASON_NETWORK_UNAVAILABLE, /* the node's condition */
    REASON_NO_ENDPOINTS,        /* none usable anywhere */
    REASON_NO_LOCAL_ENDPOINTS,  /* policy Local, and usable ones only elsewhere */
    REASON_PORTS_ELSEWHERE,     /* other nodes can forward all ports of the address, this one not */
    REASON_NOT_PROVED,          /* NAT has not proved every frontend yet */
    REASON_GATEWAY_NOT_PROVED,  /* an egress gateway has not proved that it forwards */
    REASON_HELD_DOWN,           /* withdrawn recently */
    REASON_ANNOUNCED,
    REASON_COUNT,
};

/* "no-local-endpoints": stable words, part of the API. */
const char *address_reason_name(enum address_reason reason);
/* A sentence for operators: "no usable endpoint on this node (policy Local)". */
const char *address_reason_text(enum address_reason reason);

enum { REASON_STRLEN = 512 };

/* The sentence followed by its object, "a Node has it: node-2"; `of` "": nothing. */
const char *address_reason_about(enum address_reason reason, const char *of,
                                 char buffer[static REASON_STRLEN]);
