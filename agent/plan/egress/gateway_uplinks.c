// SPDX-License-Identifier: Apache-2.0
/*
 * A gateway's uplinks; see gateway_uplinks.h.
 *
 * A gateway without configured addresses uses the one at which clients reach it. If the default
 * route has several next hops, that address may be of the network of one of their interfaces; a
 * router behind another one with source validation (uRPF) drops packets from it. An address on lo,
 * or of an interface without a default route, is taken as one to which the fabric has a route.
 */
#include "plan/egress/gateway_uplinks.h"

#include "faults/egress.h"
#include "faults/raise.h"

static bool leads_out(const struct gateway_uplinks *uplinks, uint32_t ifindex, uint8_t family)
{
    sorted_each(const struct link_path, path, uplinks->paths) {
        if (path->ifindex == ifindex && path->kind == PATH_DEFAULT && path->net.ip.family == family)
            return true;
    }
    return false;
}

/* The interface that has the address; 0: none. */
static uint32_t owner_of(const struct gateway_uplinks *uplinks, const struct ip *ip)
{
    sorted_each(const struct link_address, address, uplinks->addresses) {
        if (ip_equal(&address->ip, ip))
            return address->ifindex;
    }
    return 0;
}

/* NULL: an interface without an address of the family, which uses another interface's. */
static const struct ip *own_address(const struct gateway_uplinks *uplinks, uint32_t ifindex,
                                    const struct ip *source)
{
    const struct ip *found = NULL;
    sorted_each(const struct link_address, address, uplinks->addresses) {
        if (address->ifindex != ifindex || address->ip.family != source->family || address->scope)
            continue;
        if (ip_equal(&address->ip, source))
            return NULL;
        found = &address->ip;
    }
    return found;
}

void plan_gateway_uplinks(const struct gateway_uplinks *uplinks, const struct ip *source,
                          struct faults *faults)
{
    const uint32_t owner = owner_of(uplinks, source);
    const struct link *home = link_find(uplinks->links, owner);
    char text[IP_STRLEN], other[IP_STRLEN];
    if (!home || !leads_out(uplinks, owner, source->family))
        return;
    sorted_each(const struct link, link, uplinks->links) {
        const struct ip *own = own_address(uplinks, link->ifindex, source);
        if (link->ifindex == owner || !own || !leads_out(uplinks, link->ifindex, source->family))
            continue;
        fault_raise(faults, "egress.gateway", egress_gateway_source_of_other_uplink,
                    .uplink = link->name, .source = ip_str(source, text),
                    .address = ip_str(own, other), .owner = home->name);
    }
}
