/* SPDX-License-Identifier: Apache-2.0 */
/* A Service: its addresses, ports and policies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/net/protocol.h"
#include "model/fields/label_selector.h"
#include "model/object.h"

enum service_type {
    SERVICE_CLUSTER_IP,
    SERVICE_NODE_PORT,
    SERVICE_LOAD_BALANCER,
    SERVICE_EXTERNAL_NAME,
};

const char *service_type_name(enum service_type type);

struct service_port {
    const char *name; /* "" if the only port has none */
    enum protocol protocol;
    uint16_t port;
    uint16_t node_port; /* 0: none */
};

/*
 * From which field an address comes; the order is that of service.addresses. One byte: there are
 * ten times as many addresses as services.
 */
enum __attribute__((packed)) address_origin {
    ADDRESS_CLUSTER,       /* spec.clusterIPs */
    ADDRESS_EXTERNAL,      /* spec.externalIPs */
    ADDRESS_LOAD_BALANCER, /* status.loadBalancer.ingress[].ip */
};

/* "clusterIP", "externalIP", "loadBalancer". */
const char *address_origin_name(enum address_origin origin);

struct service_address {
    struct ip ip;
    enum address_origin origin;
    bool proxy_mode; /* ipMode: Proxy (KEP-1860): traffic goes to the address on the wire */
    bool kept;       /* of a balancer, in no pool, and served since before there were pools */
};

enum family_policy { FAMILY_SINGLE, FAMILY_PREFER_DUAL, FAMILY_REQUIRE_DUAL };

enum { WISHED_ADDRESSES_MAX = 16 };

/*
 * What a Service asks of whoever gives addresses out of pools: by annotations of the groups
 * fingerpost.io, metallb.io and metallb.universe.tf, the first of them that is there, and by
 * fields.
 */
struct address_request {
    const struct ip *addresses; /* loadBalancerIPs, else spec.loadBalancerIP; no duplicates */
    uint32_t address_count;
    bool unreadable;         /* it asks for addresses that can't be read: none is to be given */
    const char *pool;        /* address-pool; NULL: any */
    const char *sharing_key; /* allow-shared-ip; NULL: it shares no address */
    const struct label *selector; /* spec.selector, of who has a sharing key; sorted by name */
    uint32_t selector_count;
    bool v4, v6;               /* spec.ipFamilies; none: it has no such list */
    enum family_policy policy; /* spec.ipFamilyPolicy */
};

/* Whether two that have a sharing key select the same pods. */
bool service_requests_have_one_selector(const struct address_request *a,
                                        const struct address_request *b);

struct service {
    struct object object;
    enum service_type type;
    /* clusterIP "None"; or none at all for type ClusterIP. The other types have one as soon as the
     * API has seen them, so that only a manifest written by hand lacks it: it still has its
     * addresses. */
    bool headless;
    const struct service_address *addresses; /* normalised, no duplicates within one origin */
    uint32_t address_count;
    /* What entries of status.loadBalancer.ingress have that is never written here: the first
     * hostname (NULL: none), and whether one says what became of its ports. */
    const char *ingress_hostname;
    bool ingress_ports;
    /* What its status in a manifest says and it was not given, and why; NULL: nothing. Only who
     * gives addresses to Services of a folder says it, by store_give(). */
    const char *unheeded;
    const struct service_port *ports;
    uint32_t port_count;
    bool external_local, internal_local; /* externalTrafficPolicy, internalTrafficPolicy: Local */
    uint16_t health_check_node_port;     /* 0: none */
    uint32_t affinity_seconds;           /* sessionAffinity ClientIP: its timeout; 0: None */
    const struct prefix *source_ranges;  /* loadBalancerSourceRanges, the usable ones */
    uint32_t source_range_count;
    const char *load_balancer_class; /* NULL: unset */
    const char *proxy_name; /* label service.kubernetes.io/service-proxy-name; NULL: absent */
    bool headless_label;    /* label service.kubernetes.io/headless, any value */
    bool announce;          /* annotation fingerpost.io/announce, default true */
    int route_class;        /* annotation fingerpost.io/route-class, 0..29; -1: none */
    struct address_request request;
    const char *const *exports; /* by enum export_annotation (service_export.h); NULL: none */
    bool assigned; /* has the condition SERVICE_ASSIGNED: whoever gives addresses looks after it */
    const char *assigned_status, *assigned_reason, *assigned_message, *assigned_since; /* of it */
    bool export_refused; /* has the condition SERVICE_EXPORTED: the exporter looks after it */
    const char *export_message, *export_since; /* of it */
    /* Who else has written to the status last, by its field manager; "": nobody is known. Says
     * nothing of the Service: not compared, nor copied. */
    const char *status_writer;
    uint64_t digest;            /* digest.h, of a Service that is made for an Egress; else 0 */
    const struct label *labels; /* sorted by name */
    uint32_t label_count;
};

/* By this field manager the addresses of Services are ours. */
#define SERVICE_MANAGER "fingerpost-addresses"

/* The condition of a Service whose LoadBalancer addresses we give: True, or False and why not. */
#define SERVICE_ASSIGNED "fingerpost.io/AddressAssigned"

/* Member of an entry of status.loadBalancer.ingress in the copy on disk: service_address.kept. */
#define SERVICE_KEPT "fingerpostKept"

/* Member of status.loadBalancer in copies: service.unheeded. */
#define SERVICE_UNHEEDED "fingerpostUnheeded"

/* The condition of a Service that asks to be exported (plan/export/export.h) and is refused: False,
 * for this reason. Others have none. */
#define SERVICE_EXPORTED       "fingerpost.io/Exported"
#define SERVICE_EXPORT_REFUSED "Refused"

static inline const struct service *to_service(const struct object *object)
{
    return (const struct service *)object;
}
