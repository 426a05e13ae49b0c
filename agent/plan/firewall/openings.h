/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Services have opened to the outside: addresses with protocol and port, for the table of
 * nftables (apply/firewall/firewall.h). Pure, like nat.h, whose frontends these are: load balancer
 * and external addresses, and node ports where services.firewall.nodePorts says so. ClusterIPs are
 * for the cluster alone.
 *
 * A port is open as long as a Service has it there, with endpoints or without: what is refused is
 * refused by the proxy, which tells the client.
 */
#pragma once

#include <stdbool.h>

#include "base/sorted.h"
#include "model/services/service.h"
#include "plan/facts.h"
#include "plan/firewall/opening_table.h"

/*
 * Appends what one Service has opened, sorted; no two Services have the same. With NAT or without:
 * another proxy serves the same then. Of the facts store, config and link_addresses are read.
 * Returns 0 or -ENOMEM.
 */
int plan_openings(const struct node_facts *facts, const struct service *service,
                  opening_list *list);

/*
 * Whether this node has the address on an interface, or announces it (`routes`: struct route, the
 * kernel's). That is what services.firewall.scope calls its holder.
 */
bool opening_is_held(const struct node_facts *facts, const struct sorted *routes,
                     const struct ip *ip);

/*
 * Whether the rest of an opened address may be closed: it is a Service's own. An address of a Node,
 * or one that an interface has for itself, has other things to answer; one that the kernel keeps
 * for a while (kept_table.h), or that stands on kube-proxy's device, does not.
 */
bool opening_may_close(const struct node_facts *facts, const struct ip *ip);
