/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Openings of Services to the outside: addresses with protocol and port, for the nftables table
 * (apply/firewall/firewall.h). Pure, like nat.h, whose frontends these are: load balancer and
 * external addresses, and node ports if services.firewall.nodePorts is set. ClusterIPs are for the
 * cluster alone.
 *
 * A port is open as long as a Service has it there, with endpoints or without: without them the
 * proxy rejects connections, so that the client gets an error.
 */
#pragma once

#include <stdbool.h>

#include "base/sorted.h"
#include "model/services/service.h"
#include "plan/facts.h"
#include "plan/firewall/opening_table.h"

/*
 * Appends the openings of one Service, sorted; no two Services have the same. With NAT on or off:
 * in the latter case another proxy serves the same. Of the facts it reads store, config and
 * link_addresses. Returns 0 or -ENOMEM.
 */
int plan_openings(const struct node_facts *facts, const struct service *service,
                  opening_list *list);

/*
 * Whether this node has the address on an interface, or announces it (`routes`: struct route, the
 * kernel's). Such a node is a "holder" in services.firewall.scope.
 */
bool opening_is_held(const struct node_facts *facts, const struct sorted *routes,
                     const struct ip *ip);

/*
 * Whether the other ports of an opened address may be closed: only a Service uses it. An address of
 * a Node, or a regular address of an interface, may have other listeners; one with a lifetime
 * (kept_table.h), or on kube-proxy's device, has not.
 */
bool opening_may_close(const struct node_facts *facts, const struct ip *ip);
