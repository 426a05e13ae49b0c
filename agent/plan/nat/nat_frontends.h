/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses and ports of a Service are served, and which Service has them. Internal to plan/.
 */
#pragma once

#include "base/fault.h"
#include "model/services/service.h"
#include "plan/facts.h"
#include "plan/nat/nat_table.h"

/*
 * Appends the ClusterIPs of a family (IP_NONE: of both) that are this Service's, and no older
 * one's; the list is then sorted. ClusterIPs that an interface of this node has are excluded;
 * nat_left_cluster_ips() returns only those. Return 0 or -ENOMEM.
 */
int nat_left_cluster_ips(const struct node_facts *facts, const struct service *service,
                         ip_list *list);
int nat_cluster_ips(const struct node_facts *facts, const struct service *service, uint8_t family,
                    ip_list *list);

/* Fills in the ports of `family`, which are the Service's, without endpoints. 0 or -ENOMEM. */
int nat_ports(const struct service *service, struct nat_family *family);

/*
 * Fills in the frontends of `family`, whose family and ports are set; outcomes stay empty. A node
 * port that an older Service has is a fault. Returns 0 or -ENOMEM.
 */
int nat_frontends(const struct node_facts *facts, const struct service *service,
                  struct nat_family *family, struct faults *faults);
