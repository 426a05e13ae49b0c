/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is exported for load balancers outside the cluster, how, and where to: the section `consul`
 * of controller.yaml. Each setting of kube-service-exporter has its place here, so that its
 * environment can fill the same struct (export_environment.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

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
    bool details; /* members that kube-service-exporter does not have */
};

/* What holds where nothing is said, but for the cluster. Returns 0 or -ENOMEM. */
int export_config_defaults(struct export_config *config);
void export_config_done(struct export_config *config);
