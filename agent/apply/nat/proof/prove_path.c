// SPDX-License-Identifier: Apache-2.0
/*
 * The paths of a proof (prove.c), in both directions.
 *
 * The path of replies: replies to masqueraded packets and to this node's packets arrive on the
 * interface by which the requests leave. Unless that interface has our program, the replies reach
 * the node with an address for which it has no socket, and are lost. Other replies are translated
 * where they leave, at the client's side. So a set that is correct for the former may be wrong for
 * the latter; a walk notes both.
 *
 * A pod of this node whose address was allocated from this node's blocks has a veth pair. If an
 * interface of the node itself has its address, or the route to it leaves by an uplink, the pod is
 * not reached.
 *
 * To an endpoint of this node behind a child (macvlan, ipvlan) of the outgoing interface there is
 * no path at all: packets that a parent sends never reach its children. The kernel is queried for
 * children only where an endpoint of this node is reached by an interface that may have some
 * (struct nat_attachment); an endpoint of another node is reached by the same interface.
 */
#include "apply/nat/proof/prove_inside.h"

#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/ours.h"
#include "plan/link_table.h"

const char *prover_endpoint(const struct nat_endpoint *endpoint, char buffer[static 64])
{
    char address[IP_STRLEN];
    (void)snprintf(buffer, 64, endpoint->ip.family == IP_V6 ? "[%s]:%u" : "%s:%u",
                   ip_str(&endpoint->ip, address), endpoint->port);
    return buffer;
}

int prover_differs(struct prover *prover, const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(prover->why, sizeof(prover->why), format, args);
    va_end(args);
    prover->remedy = remedy;
    prover->lost = false;
    return 0;
}

/* In the order of the kernel's BPF_FIB_LKUP_RET_*. */
const char *nat_route_text(int route)
{
    static const char *const texts[] = {
        "",
        "a blackhole route",
        "an unreachable route",
        "a prohibiting route",
        "no route, or one to this node itself",
        "forwarding is off",
        "a route with an encapsulation",
        "no neighbour",
        "the packet does not fit",
        "no source address",
    };
    if (route == NAT_ROUTE_SVC0)
        return "an address of a Service";
    if (route == NAT_ROUTE_NO_SOURCE)
        return "no address of this node to masquerade with";
    return route > 0 && (size_t)route < ARRAY_SIZE(texts) ? texts[route] : "refused";
}

/* Whether the replies to a forwarded packet come back to this node's own address. */
static bool returns_here(const struct nat_probe *probe, const struct nat_answer *answer)
{
    return answer->masquerade != NAT_MASQUERADE_NO || probe->ingress_ifindex == 0;
}

/* Whether an endpoint is a pod of this node. */
static bool is_here(const struct nat_port *port, const struct nat_answer *answer)
{
    return vec_find(&port->sets[NAT_SET_LOCAL], &answer->endpoint_value, nat_endpoint_cmp);
}

/* ... and reached by an interface that may have children. */
static bool may_be_child(const struct prover *prover, const struct nat_port *port,
                         const struct nat_answer *answer)
{
    const struct probe_origins *origins = prover->origins;
    return nat_may_be_parent(origins->attachments, origins->attachment_count, answer->out) &&
           is_here(port, answer);
}

static int check_parent(struct prover *prover, const struct nat_answer *answer)
{
    static const struct {
        const char *kind, *remedy;
    } texts[] = {
        [NAT_CHILDREN_MACVLAN] = { "a macvlan", "give this node a macvlan child of that interface, "
                                                "too, with routes to such pods" },
        [NAT_CHILDREN_IPVLAN] = { "an ipvlan", "give this node an ipvlan child of that interface, "
                                               "too, with routes to such pods" },
    };
    char where[64], name[IF_NAMESIZE];

    if (prover->parent != answer->out) {
        prover->parent = answer->out;
        prover->children = nat_children_of(answer->out);
    }
    if (prover->children == NAT_CHILDREN_NONE)
        return 1;
    return prover_differs(prover, texts[prover->children].remedy,
                          "%s is on this node, but %s, %s parent, never reaches its children",
                          prover_endpoint(&answer->endpoint_value, where),
                          if_indextoname(answer->out, name) ? name : "an interface that is gone",
                          texts[prover->children].kind);
}

int prover_no_path(struct prover *prover, const struct nat_probe *probe,
                   const struct nat_answer *answer)
{
    char where[64];
    (void)prover_differs(prover, "see: ip route get ADDRESS", "slot %u: no way to %s: %s",
                         probe->pick, prover_endpoint(&answer->endpoint_value, where),
                         nat_route_text(answer->route));
    prover->lost = prover->any_lost = true;
    prover->sourceless = answer->route == NAT_ROUTE_NO_SOURCE;
    return 0;
}

/* ... with an address out of this node's own blocks. */
static bool is_ours(const struct prover *prover, const struct nat_port *port,
                    const struct nat_answer *answer)
{
    const struct probe_origins *origins = prover->origins;
    for (size_t i = 0; i < origins->own_block_count; i++) {
        if (prefix_contains(&origins->own_blocks[i], &answer->endpoint_value.ip))
            return is_here(port, answer);
    }
    return false;
}

static bool is_uplink(const struct probe_origins *origins, uint32_t ifindex)
{
    for (size_t i = 0; i < origins->attachment_count; i++) {
        if (origins->attachments[i].ifindex == ifindex &&
            origins->attachments[i].hook == NAT_HOOK_UPLINK_IN)
            return true;
    }
    return false;
}

/* The interface of this node that has an address; NULL: none. */
static const struct link *owner_of(const struct probe_origins *origins, const struct ip *ip)
{
    if (!origins->addresses || !origins->links)
        return NULL;
    sorted_each(const struct link_address, address, origins->addresses) {
        if (ip_equal(&address->ip, ip))
            return link_find(origins->links, address->ifindex);
    }
    return NULL;
}

/* A pod of ours whose address or route is the node's own. Returns 1 if that is not so. */
static int check_own(struct prover *prover, const struct nat_port *port,
                     const struct nat_probe *probe, const struct nat_answer *answer)
{
    const struct probe_origins *origins = prover->origins;
    char where[64], name[IF_NAMESIZE];
    const bool away = answer->out && is_uplink(origins, answer->out);
    if ((answer->out && !away) || !is_ours(prover, port, answer))
        return 1;
    const struct link *owner = away ? NULL : owner_of(origins, &answer->endpoint_value.ip);
    if (!away && !owner)
        return 1;
    (void)prover_endpoint(&answer->endpoint_value, where);
    if (owner)
        (void)prover_differs(prover, "ip addr del ADDRESS dev INTERFACE, for the pod has it",
                             "slot %u: no way to %s: it is an address of %s, too", probe->pick,
                             where, owner->name);
    else
        (void)prover_differs(
            prover, "mend or delete that route: ip route show to ADDRESS, or ip -6 route",
            "slot %u: no way to %s: a route leads by %s, and not to the pod", probe->pick, where,
            if_indextoname(answer->out, name) ? name : "an interface that is gone");
    prover->lost = prover->any_lost = true;
    prover->sourceless = false;
    return 0;
}

/* The interface of a pod of this node, if its end in the pod is down; NULL: it is up. */
static const struct link *dead_end(const struct prover *prover, const struct nat_port *port,
                                   const struct nat_answer *answer)
{
    const struct sorted *links = prover->origins->links;
    if (!links || !is_here(port, answer))
        return NULL;
    const struct link *link = link_find(links, answer->out);
    return link && link->unplugged ? link : NULL;
}

/* The kernel still routes to it, and packets sent there are lost. */
static int no_carrier(struct prover *prover, const struct nat_probe *probe,
                      const struct nat_answer *answer, const struct link *link)
{
    char where[64];
    (void)prover_differs(prover,
                         "see that the pod runs, and that its own end of that interface is up: "
                         "ip -br link",
                         "slot %u: no way to %s: %s has no carrier", probe->pick,
                         prover_endpoint(&answer->endpoint_value, where), link->name);
    prover->lost = prover->any_lost = true;
    prover->sourceless = false;
    return 0;
}

/* The node's own packets to addresses of Services leave by svc0. */
static bool is_service(uint32_t index)
{
    char name[IF_NAMESIZE];
    return if_indextoname(index, name) && strcmp(name, SVC0_NAME) == 0;
}

/* The path in both directions. */
int prover_check_path(struct prover *prover, const struct nat_port *port,
                      const struct nat_probe *probe, const struct nat_answer *answer)
{
    const struct probe_origins *origins = prover->origins;
    char where[64], name[IF_NAMESIZE];

    if (answer->route != 0)
        return prover_no_path(prover, probe, answer);
    if (check_own(prover, port, probe, answer) == 0)
        return 0;
    if (answer->out == 0)
        return 1;
    if (may_be_child(prover, port, answer) && check_parent(prover, answer) == 0)
        return 0;
    const struct link *link = dead_end(prover, port, answer);
    if (link)
        return no_carrier(prover, probe, answer, link);
    if (nat_sees_replies(origins->attachments, origins->attachment_count, answer->out))
        return 1;
    prover->unseen = true;
    if (!returns_here(probe, answer))
        return 1;
    if (is_service(answer->out))
        return prover_differs(
            prover, "an endpoint is a pod or a host: correct the EndpointSlice's addresses",
            "endpoint %s is itself an address of a Service",
            prover_endpoint(&answer->endpoint_value, where));
    return prover_differs(prover,
                          "name it in services.uplinks, or in podInterfaces if it is a pod's",
                          "%s is reached by %s, where our program is not",
                          prover_endpoint(&answer->endpoint_value, where),
                          if_indextoname(answer->out, name) ? name : "an interface that is gone");
}
