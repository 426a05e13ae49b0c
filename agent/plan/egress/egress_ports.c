// SPDX-License-Identifier: Apache-2.0
/*
 * Ports of bridges of pods; see egress_ports.h.
 *
 * The CNI plugin "bridge" creates a pair of veths for a VLAN: one is the pods' gateway, the other a
 * port. Packets of this node to its pods come in by that port, packets of pods to other
 * destinations by the gateway. If the bridge has other ports than pods', there are no programs on
 * its ports, and the gateway is an interface like others.
 */
#include "plan/egress/egress_ports.h"

#include "plan/egress/egress_table.h"

/* Whether it is the port at the other end of the gateway. */
static bool is_own_port(const struct sorted *links, const struct link *link)
{
    const struct link *other = link->lower ? link_find(links, link->lower) : NULL;
    return link_port_of(links, link) && other && !link_port_of(links, other);
}

static int put_port(const struct sorted *links, const struct nat_attachment *hook,
                    struct sorted *ports)
{
    const struct link *link = link_find(links, hook->ifindex);
    const struct link *bridge = link ? link_port_of(links, link) : NULL;
    if (hook->hook != NAT_HOOK_POD_IN || !bridge || is_own_port(links, link))
        return 0;
    return sorted_put(ports, &(struct egress_port){ link->ifindex, bridge->ifindex });
}

static bool has_port(const struct sorted *ports, const struct link *bridge)
{
    sorted_each(const struct egress_port, port, ports) {
        if (port->bridge == bridge->ifindex)
            return true;
    }
    return false;
}

int plan_egress_ports(const struct sorted *links, const nat_attachment_list *hooks,
                      struct sorted *ports)
{
    int r = 0;
    vec_each(const struct nat_attachment, hook, hooks) {
        r = put_port(links, hook, ports);
        if (r < 0)
            return r;
    }
    sorted_each(const struct link, link, links) {
        const struct link *bridge =
            link_port_of(links, link) ? NULL : link_bridge_behind(links, link);
        if (bridge && has_port(ports, bridge))
            r = sorted_put(ports, &(struct egress_port){ link->ifindex, bridge->ifindex });
        if (r < 0)
            return r;
    }
    return 0;
}

bool plan_egress_is_seen(const struct sorted *links, const struct sorted *ports, uint32_t ifindex)
{
    const struct link *link = link_find(links, ifindex);
    if (!link || is_own_port(links, link))
        return link;
    return !link_port_of(links, link) && sorted_find(ports, &(struct egress_port){ ifindex, 0 });
}
