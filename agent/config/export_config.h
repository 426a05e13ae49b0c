/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is exported for load balancers outside the cluster, how, and where to: the section `consul`
 * of controller.yaml. Each setting of kube-service-exporter has its place here, so that its
 * environment fills the same struct. What the file says goes before the environment. The section
 * `consul` of agentd.yaml, for the services of Consul's own agent on each node, fills the part of
 * it that says where Consul is and which Services are meant.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/consul_where.h"
#include "base/fault.h"
#include "config/lists.h"

/* consul.addresses: where a load balancer is to send to. */
enum export_addresses {
    EXPORT_NODE_PORTS,    /* the document's port at each of the listed nodes */
    EXPORT_PODS,          /* the endpoints themselves */
    EXPORT_LOAD_BALANCER, /* the Service's own addresses */
    EXPORT_ADDRESS_WORDS
};
extern const char *const export_addresses_names[EXPORT_ADDRESS_WORDS];

struct export_config {
    char *cluster;              /* clusterID; NULL: nothing is exported */
    char *prefix;               /* kvPrefix */
    char *key_template;         /* keyTemplate; "": the document's id */
    string_list namespaces;     /* empty: all */
    string_list node_selectors; /* in order of preference; empty, or "" in it: all nodes */
    uint32_t min_nodes;         /* minNodes: that many of a selector's nodes are enough */
    enum export_addresses addresses;
    bool details;            /* members that kube-service-exporter does not have */
    uint32_t shrink_percent; /* maxShrink: more of a list is held back */
    int64_t hold_ms;         /* holdDown: for so long */
    char *folder;            /* documents go there and not to Consul; NULL: to Consul */
    char *identity;          /* that stands in the lock; NULL: that of the election */
    int64_t session_ms;      /* sessionTTL */
    int64_t wait_ms;         /* blockingQuery: how long one may last */
    struct consul_where consul;
    struct {
        char *address; /* "127.0.0.1:8125", or a host's name; NULL: no metrics are sent */
        string_list tags;
    } statsd;
    bool services_asked; /* KSE_SERVICES_ENABLED */
};

/* What holds where nothing is said, but for the cluster. Returns 0 or -ENOMEM. */
int export_config_defaults(struct export_config *config);
void export_config_done(struct export_config *config);

/*
 * Takes over what the environment says, by kube-service-exporter's names and those of Consul's
 * clients. `get` is getenv(), or a test's. What can't be read is a fault, and refuses the start.
 * Returns 0, -EBADMSG or -ENOMEM.
 */
int export_environment(struct export_config *config, char *(*get)(const char *name), char **listen,
                       struct faults *errors);

/* The fault of what fits no key or can't be read, of whichever source it is. */
void export_config_check(const struct export_config *config, struct faults *errors);
