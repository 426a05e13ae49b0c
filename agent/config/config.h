/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentd.yaml as typed values. The daemon and `agentctl config check` use this one parser: every
 * error of a file is reported at once, with line and column; unknown keys are errors.
 *
 * A configuration is a value that is never changed after loading; a reload makes a new one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/net/ip.h"
#include "base/vec.h"
#include "config/export_config.h"
#include "config/lists.h"

enum advertise {
    ADVERTISE_LOAD_BALANCER = 1 << 0,
    ADVERTISE_EXTERNAL = 1 << 1,
    ADVERTISE_CLUSTER = 1 << 2,
};

/* services.path: of masqueraded packets. */
enum packet_path { PATH_AUTO, PATH_STACK, PATH_DIRECT, PATHS };
extern const char *const packet_path_names[PATHS];

/* egress.unknownPods: packets of pods that the agent does not know, or not yet. */
enum unknown_pods { UNKNOWN_PODS_PASS, UNKNOWN_PODS_HOLD, UNKNOWN_PODS_WORDS };
extern const char *const unknown_pods_names[UNKNOWN_PODS_WORDS];

/* egress.podTunnels: what a pod wraps by itself for a gateway. */
enum pod_tunnels { POD_TUNNELS_DROP, POD_TUNNELS_ALLOW, POD_TUNNELS_WORDS };
extern const char *const pod_tunnels_names[POD_TUNNELS_WORDS];

/* addresses.group: what a claim is of. */
enum claim_group { CLAIM_BY_ADDRESS, CLAIM_BY_SERVICE, CLAIM_OF_ALL, CLAIM_GROUPS };
extern const char *const claim_group_names[CLAIM_GROUPS];

/* addresses.failback: who has an address keeps it. */
enum { CLAIM_FAILBACK_NEVER = -1 };
/* services.firewallFault: whether an address stays announced while netfilter drops what its
 * Services forward. */
enum firewall_fault { FIREWALL_FAULT_KEEP, FIREWALL_FAULT_WITHDRAW, FIREWALL_FAULTS };
extern const char *const firewall_fault_names[FIREWALL_FAULTS];
/* services.firewall.mode: what our table of nftables does with packets to opened ports. */
enum firewall_mode { FIREWALL_OFF, FIREWALL_MARK, FIREWALL_ACCEPT, FIREWALL_MODES };
extern const char *const firewall_mode_names[FIREWALL_MODES];
/* services.firewall.scope: of every Service, or of addresses that this node has or announces. */
enum firewall_scope { FIREWALL_ALL, FIREWALL_HOLDER, FIREWALL_SCOPES };
extern const char *const firewall_scope_names[FIREWALL_SCOPES];

struct port_range {
    uint16_t first, last;
};

/* Of a flow's silence. */
struct flow_timeouts {
    int64_t tcp_opening_ms, tcp_established_ms, tcp_half_closed_ms, tcp_closed_ms;
    int64_t udp_ms, udp_stream_ms;
};

/* Of the gateway's addresses, each family may have EGRESS_FAMILY_MAX. */
enum { EGRESS_FAMILY_MAX = 8, EGRESS_ADDRESSES_MAX = 16, EGRESS_SERVES_MAX = 1024 };

struct config {
    char *node; /* default: the host's name, as the kubelet takes it (lower case) */
    struct {
        char *manifests;         /* the folder; NULL: Kubernetes is the source */
        bool kubernetes;         /* exactly one of the two */
        char *kubeconfig;        /* of Kubernetes; NULL: the service account of the pod */
        bool events;             /* of Kubernetes: tell owners of Services of what they can mend */
        int64_t start_wait_ms;   /* source.startWait: for Kubernetes, at the start */
        uint64_t max_file_bytes; /* source.maxFileSize, default 256 MiB */
    } source;
    struct {
        bool enabled;   /* default true; false: no route is written, for a gateway in a pod */
        uint32_t table; /* 119; the guard of addresses is always table 120 */
        int64_t hold_initial_ms, hold_max_ms;
        int64_t drain_shutdown_ms, drain_withdraw_ms;
        int64_t deadman_ms;   /* 0: off */
        bool direct;          /* other nodes' blocks on the same segment are routed; default off */
        int64_t node_gone_ms; /* routes.nodeGone: how long a deleted Node object is waited for */
    } routes;
    struct {
        bool enabled;                           /* default false: no NAT unless asked for */
        bool uplinks_auto, pod_interfaces_auto; /* found by what they are; the default */
        string_list uplinks, pod_interfaces;    /* else: names and patterns */
        bool cluster_cidrs_set; /* an empty list written out means: nothing is a pod */
        prefix_list cluster_cidrs, service_cidrs, node_port_addresses, external_ips,
            load_balancer_ips;
        bool node_ports_set;                    /* nodePortAddresses, by a list with items */
        bool node_port_primary;                 /* "primary" among them, or none */
        char *load_balancer_class, *proxy_name; /* "" by default */
        unsigned advertise;                     /* enum advertise */
        bool masquerade_all;
        enum packet_path path; /* default auto */
        struct port_range snat_ports;
        struct flow_timeouts timeouts;
        uint32_t max_flows, max_services, max_endpoints;
        struct {
            enum firewall_mode mode; /* default off */
            uint32_t mark;           /* bits that are added to a packet's mark */
            enum firewall_scope scope;
            bool node_ports; /* node ports count as opened; default false */
        } firewall;
        enum firewall_fault firewall_fault; /* default keep */
        char *healthz;                      /* "address:port" */
        char *proxy_mode; /* services.proxyModeListen, likewise; NULL: not served */
    } services;
    struct {
        bool enabled;           /* the client side: packets of this node's pods; default false */
        prefix_list in_cluster; /* what stays in the cluster beside what is known to */
        enum unknown_pods unknown_pods;
        enum pod_tunnels pod_tunnels;
        uint32_t port;    /* UDP port of tunnels */
        int64_t probe_ms; /* probeInterval: between two questions to a gateway */
        struct {
            bool enabled;       /* the section is there, if only as {} */
            string_list serves; /* "NAMESPACE/NAME" of Egresses; empty: by their gateway-nodes */
            ip_list addresses;  /* translated to; empty: this node's own, one of each family */
            struct port_range ports;
            uint32_t port_block; /* a power of two */
            uint32_t blocks_per_client;
            int64_t drain_ms;
            struct flow_timeouts timeouts;
            int64_t icmp_ms; /* timeouts.icmp */
        } gateway;
    } egress;
    struct {
        bool allocate;   /* of manifests: this agent gives addresses out of pools; default false */
        int64_t rest_ms; /* how long a freed address is given to nobody else */
    } pools;
    struct {
        bool enabled;          /* this agent gives addresses to pods; default false */
        uint32_t table;        /* of pods' routes: main, or 116 as Coil has them */
        int64_t rest_ms;       /* how long a freed address waits, where another is free */
        int64_t least_rest_ms; /* pods.leastRest: and where none is */
        int64_t empty_ms; /* pods.emptyBlocks: how long a block is empty until it is given back */
        int64_t gone_ms;  /* pods.goneAfter: how long an interface may outlive its Pod in the API */
    } pods;
    struct {
        bool enabled;      /* the section is there */
        prefix_list claim; /* Services' addresses in these are claimed */
        ip_list own;       /* and these, which are no Service's */
        bool interfaces_auto;
        string_list interfaces; /* else: names and patterns */
        enum claim_group group;
        int64_t duration_ms; /* of a claim */
        int64_t failback_ms; /* CLAIM_FAILBACK_NEVER */
        char *lease_namespace;
        struct {
            string_list endpoints;                /* URLs; none: claims are Leases */
            char *prefix;                         /* of keys; ends with a slash */
            char *ca_file, *cert_file, *key_file; /* NULL: not set */
            char *user, *password_file;           /* likewise */
        } etcd;
    } addresses;
    struct {
        char *socket; /* NULL: BIRD is not asked */
        /* expectPeers: a number of sessions, or their names; not set: all that BIRD has. */
        bool expect_set;
        uint32_t expect_count;
        string_list expect_names;
    } bird;
    struct {
        bool enabled;    /* the section is there */
        int64_t ttl_ms;  /* consul.checkTTL: of a check that the agent no longer renews */
        int64_t poll_ms; /* consul.resync: between two looks at what Consul's agent has */
    } consul;
    struct export_config exports; /* the rest of the section consul */
    struct {
        char *listen; /* "address:port" */
    } api;
    struct {
        char *run, *state, *bpf;
    } paths;
};

/*
 * Loads a file. Returns 0; -EBADMSG after adding every error of the file to `errors`; -ENOENT and
 * the like (with a fault) if it can't be read; -ENOMEM.
 */
int config_load(const char *path, struct config **ret_config, struct faults *errors);

/* The configuration of an empty file but for `manifests`: for offline planning and tests. */
int config_default(const char *manifests, struct config **ret_config);

void config_free(struct config *config);
DEFINE_CLEANUP(struct config *, config_free);

/* Whether services.serviceCIDRs have the address. */
static inline bool config_is_service_address(const struct config *config, const struct ip *ip)
{
    vec_each(const struct prefix, prefix, &config->services.service_cidrs) {
        if (prefix_contains(prefix, ip))
            return true;
    }
    return false;
}

/* Whether owners of Services are told by Events: there is an API, and it is not turned off. */
static inline bool config_has_events(const struct config *config)
{
    return config->source.kubernetes && config->source.events;
}
