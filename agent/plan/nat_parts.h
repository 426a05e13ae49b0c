/* SPDX-License-Identifier: Apache-2.0 */
/* The steps to a row of nat.h. Internal to plan/. */
#pragma once

#include "model/node.h"
#include "plan/nat.h"

/* This node's own object, or NULL; its first internal address of a family, or NULL. */
const struct node *nat_this_node(const struct route_facts *facts);
const struct ip *nat_primary(const struct route_facts *facts, uint8_t family);

/* True if the service has a ClusterIP in the family: without one, a proxy does nothing in it. */
bool nat_has_family(const struct service *service, uint8_t family);

/* Appends the addresses on which node ports are served, sorted. Returns 0 or -ENOMEM. */
int nat_node_port_addresses(const struct route_facts *facts, uint8_t family, ip_list *list);

/* Fills the frontends of `family->family`; outcomes are still empty. Returns 0 or -ENOMEM. */
int nat_frontends(const struct route_facts *facts, const struct service *service,
                  struct nat_family *family, struct faults *faults);

/* Fills both sets of a port. Returns 0 or -ENOMEM. */
int nat_port_sets(const struct route_facts *facts, const struct service *service,
                  const struct service_port *port, uint8_t family, struct nat_port *ret_port);

/* Counts the distinct addresses of ready endpoints on this node. Returns 0 or -ENOMEM. */
int nat_local_ready(const struct route_facts *facts, const struct service *service, uint8_t family,
                    uint32_t *ret_count);

struct nat_outcome nat_outcome(const struct config *config, const struct service *service,
                               const struct nat_port *port, enum nat_kind kind,
                               enum nat_source source);
