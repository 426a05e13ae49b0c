/* SPDX-License-Identifier: Apache-2.0 */
/* The steps to a row of nat.h. Internal to plan/. */
#pragma once

#include "model/node.h"
#include "plan/nat.h"

/*
 * This node's own object, or NULL; its first internal address of a family, or else the one it
 * comes from by the default route, or NULL.
 */
const struct node *nat_this_node(const struct node_facts *facts);
const struct ip *nat_primary(const struct node_facts *facts, uint8_t family);

/* Appends the service's own ClusterIPs of a family (IP_NONE: both), sorted. 0 or -ENOMEM. */
int nat_cluster_ips(const struct node_facts *facts, const struct service *service, uint8_t family,
                    ip_list *list);

/* Fills the frontends of `family->family`; outcomes are still empty. Returns 0 or -ENOMEM. */
int nat_frontends(const struct node_facts *facts, const struct service *service,
                  struct nat_family *family, struct faults *faults);

/* Fills both sets of a port, and who serves. Returns 0 or -ENOMEM. */
int nat_port_sets(const struct node_facts *facts, const struct service *service,
                  const struct service_port *port, uint8_t family, struct nat_port *ret_port);

/* Counts the distinct addresses of ready endpoints on this node. Returns 0 or -ENOMEM. */
int nat_local_ready(const struct node_facts *facts, const struct service *service, uint8_t family,
                    uint32_t *ret_count);

struct nat_outcome nat_outcome(const struct config *config, const struct service *service,
                               const struct nat_port *port, enum nat_frontend_kind kind,
                               enum nat_origin origin);
