// SPDX-License-Identifier: Apache-2.0
/*
 * The proof, called after each write for the Services that were written.
 *
 * A frontend is asked once for each kind of source: that gives verdict, cause, masquerading and the
 * set. The set's slots are then walked once for all frontends and sources that lead into it: what
 * differs between those is settled before an endpoint is chosen. So a Service costs about
 * 3 x frontends + endpoints runs of the twin, each some microseconds. A set that failed is walked
 * again for the next frontend that needs it, so that each tells its own story; the first slot that
 * fails ends that.
 *
 * Source ranges: the source that stands for its kind may be outside of them. Then it must be
 * dropped, and another one of the kind, inside a range, asks the rest (admitted.h).
 *
 * The way: the replies to masqueraded packets and to this node's own come back by the interface
 * that these leave by. Unless that carries our program, they reach the node with an address that
 * nobody there waits for, and are lost. Other replies are translated where they leave, at the
 * client's side. So a set that is good for the ones may be bad for the others; a walk notes both.
 *
 * To an endpoint of this node that is behind a child (macvlan, ipvlan) of the interface which the
 * packet leaves by there is no way at all: what a parent sends never reaches its children. The
 * kernel is asked for children only where an endpoint of this node is reached by what may have some
 * (struct nat_attachment); an endpoint of another node is reached by the same interface.
 */
#include "apply/nat/prove.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "apply/nat/admitted.h"
#include "apply/nat/children.h"
#include "base/macro.h"

enum {
    PROBE_PORT = 50000, /* the twin looks at no flow, so any will do */
    WHY_SIZE = 128,
    FRONTEND_STRLEN = 80, /* of "[2001:db8::1]:443/TCP" */
};
_Static_assert(sizeof(((struct nat_proof *)0)->why) >= FRONTEND_STRLEN + WHY_SIZE,
               "a proof says of which frontend, and why");

/* What is known of the slots of a set. */
enum walked {
    WALKED_NOT,
    WALKED_FORTH, /* each has a way, but for some the replies would not be seen */
    WALKED_BOTH,  /* there and back */
};

struct prover {
    struct nat_plane *plane;
    const struct probe_origins *origins;
    const struct nat_row *row;
    const struct nat_family *family;
    uint32_t service;           /* the id whose name is the row's; 0: not asked yet */
    enum walked *walked;        /* by port_index * NAT_SETS + set */
    enum walked *const *walks;  /* such a table for each uplink that is asked by */
    uint32_t parent;            /* the interface that was asked last for ... */
    enum nat_children children; /* ... its children; 0: none was asked */
    bool unseen;        /* one of the slots being walked leaves by an interface without us */
    char why[WHY_SIZE]; /* what differs */
    const char *remedy;
};

static const char *endpoint_str(const struct nat_endpoint *endpoint, char buffer[static 64])
{
    char address[IP_STRLEN];
    (void)snprintf(buffer, 64, endpoint->ip.family == IP_V6 ? "[%s]:%u" : "%s:%u",
                   ip_str(&endpoint->ip, address), endpoint->port);
    return buffer;
}

/* Says what differs. Returns 0, as all below do that found a difference; they return 1 if none. */
static int differs(struct prover *prover, const char *remedy, const char *format, ...)
    PRINTF_LIKE(3, 4);
static int differs(struct prover *prover, const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(prover->why, sizeof(prover->why), format, args);
    va_end(args);
    prover->remedy = remedy;
    return 0;
}

static const char look_closer[] = "see: agentctl verify";

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

/* ---- what the plan demands ---- */

struct demand {
    enum nat_act act;
    enum nat_cause cause;
    const struct nat_outcome *outcome; /* of a forwarded flow; NULL of others */
};

static struct demand demand_of(const struct nat_outcome *outcome)
{
    bool forwards = outcome->act == NAT_ACT_FORWARD;
    return (struct demand){ outcome->act, outcome->cause, forwards ? outcome : NULL };
}

static int check_service(struct prover *prover, uint32_t service)
{
    const size_t length = strlen(prover->row->namespace);
    char name[NAT_NAME_MAX] = "";

    if (service != 0 && service == prover->service)
        return 1;
    int r = nat_plane_name(prover->plane, service, name);
    if (r < 0 || strncmp(name, prover->row->namespace, length) != 0 || name[length] != '/' ||
        strcmp(name + length + 1, prover->row->name) != 0)
        return differs(prover, look_closer, "answered as %s", *name ? name : "no service");
    prover->service = service;
    return 1;
}

static int check_port(struct prover *prover, const struct nat_port *port,
                      const struct nat_answer *answer)
{
    uint8_t family = 0;
    enum protocol protocol = 0;
    uint16_t number = 0;

    if (nat_plane_port(prover->plane, answer->port, &family, &protocol, &number) &&
        family == prover->family->family && protocol == port->protocol && number == port->port)
        return 1;
    return differs(prover, look_closer, "answered as port %u/%s", number, protocol_name(protocol));
}

/* Masquerading by the rule; a flow back to its sender is masqueraded in any case. */
static int check_masquerade(struct prover *prover, const struct nat_outcome *outcome,
                            const struct nat_probe *probe, const struct nat_answer *answer)
{
    const bool back = ip_equal(&probe->source, &answer->endpoint_value.ip);
    const bool does = answer->masquerade != NAT_MASQUERADE_NO;

    if (does == (outcome->masquerade || back))
        return 1;
    return differs(prover, look_closer, does ? "masqueraded" : "not masqueraded");
}

/* Whether the replies to a forwarded packet come back to this node's own address. */
static bool returns_here(const struct nat_probe *probe, const struct nat_answer *answer)
{
    return answer->masquerade != NAT_MASQUERADE_NO || probe->ingress_ifindex == 0;
}

/* Whether an endpoint is a pod of this node, and reached by what may have children. */
static bool may_be_child(const struct prover *prover, const struct nat_port *port,
                         const struct nat_answer *answer)
{
    const struct probe_origins *origins = prover->origins;
    return nat_may_be_parent(origins->attachments, origins->attachment_count, answer->out) &&
           vec_find(&port->sets[NAT_SET_LOCAL], &answer->endpoint_value, nat_endpoint_cmp);
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
    return differs(prover, texts[prover->children].remedy,
                   "%s is on this node, but %s, %s parent, never reaches its children",
                   endpoint_str(&answer->endpoint_value, where),
                   if_indextoname(answer->out, name) ? name : "an interface that is gone",
                   texts[prover->children].kind);
}

/* The way there and back. */
static int check_way(struct prover *prover, const struct nat_port *port,
                     const struct nat_probe *probe, const struct nat_answer *answer)
{
    const struct probe_origins *origins = prover->origins;
    char where[64], name[IF_NAMESIZE];

    if (answer->route != 0)
        return differs(prover, "see: ip route get ADDRESS", "slot %u: no way to %s: %s",
                       probe->pick, endpoint_str(&answer->endpoint_value, where),
                       nat_route_text(answer->route));
    if (answer->out == 0)
        return 1;
    if (may_be_child(prover, port, answer) && check_parent(prover, answer) == 0)
        return 0;
    if (nat_sees_replies(origins->attachments, origins->attachment_count, answer->out))
        return 1;
    prover->unseen = true;
    if (!returns_here(probe, answer))
        return 1;
    return differs(prover, "name it in services.uplinks, or in podInterfaces if it is a pod's",
                   "%s is reached by %s, where our program is not",
                   endpoint_str(&answer->endpoint_value, where),
                   if_indextoname(answer->out, name) ? name : "an interface that is gone");
}

/* A forwarded flow: where to, and whether there is a way. `ret_index`: of the planned set. */
static int check_forward(struct prover *prover, const struct nat_port *port,
                         const struct nat_outcome *outcome, const struct nat_probe *probe,
                         const struct nat_answer *answer, size_t *ret_index)
{
    const nat_endpoint_list *set = &port->sets[outcome->set];
    char text[64];

    int r = check_port(prover, port, answer);
    if (r > 0)
        r = check_masquerade(prover, outcome, probe, answer);
    if (r <= 0)
        return r;
    if (answer->set != outcome->set || answer->count != set->count)
        return differs(prover, look_closer, "%u endpoints of the %s set instead of %zu of the %s",
                       answer->count, answer->set == NAT_SET_LOCAL ? "local" : "cluster",
                       set->count, outcome->set == NAT_SET_LOCAL ? "local" : "cluster");
    const char *where = endpoint_str(&answer->endpoint_value, text);
    const struct nat_endpoint *planned = vec_find(set, &answer->endpoint_value, nat_endpoint_cmp);
    if (!planned)
        return differs(prover, look_closer, "slot %u: %s is no endpoint of it", probe->pick, where);
    *ret_index = (size_t)(planned - set->items);
    return check_way(prover, port, probe, answer);
}

/* ---- questions ---- */

static const char *demand_str(enum nat_act act, enum nat_cause cause, char buffer[static 64])
{
    (void)snprintf(buffer, 64, cause == NAT_CAUSE_NONE ? "%s" : "%s (%s)", nat_act_name(act),
                   nat_cause_name(cause));
    return buffer;
}

/* Runs the twin and compares all but where a forwarded flow goes. */
static int ask(struct prover *prover, const struct nat_probe *probe, const struct demand *demand,
               struct nat_answer *ret_answer)
{
    char got[64], wanted[64];

    int r = nat_plane_probe(prover->plane, probe, ret_answer);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return differs(prover, NULL, "the twin cannot be run: %s", strerror(-r));
    if (ret_answer->cause == NAT_CAUSE_NO_ROUTE) {
        char where[64];
        return differs(prover, "see: ip route get ADDRESS", "slot %u: no way to %s: %s",
                       probe->pick, endpoint_str(&ret_answer->endpoint_value, where),
                       nat_route_text(ret_answer->route));
    }
    if (ret_answer->act != demand->act || ret_answer->cause != demand->cause)
        return differs(prover, look_closer, "%s instead of %s",
                       demand_str(ret_answer->act, ret_answer->cause, got),
                       demand_str(demand->act, demand->cause, wanted));
    return check_service(prover, ret_answer->service);
}

/* The other slots of a set of which the first was good and is endpoint `index` of the plan. */
static int walk_slots(struct prover *prover, const struct nat_port *port,
                      const struct demand *demand, struct nat_probe *probe, size_t index)
{
    const nat_endpoint_list *set = &port->sets[demand->outcome->set];
    AUTOFREE bool *seen = calloc(set->count, sizeof(*seen));
    char text[64];

    if (!seen)
        return -ENOMEM;
    seen[index] = true;
    for (uint32_t slot = 2; slot <= set->count; slot++) {
        struct nat_answer answer;
        probe->pick = slot;
        int r = ask(prover, probe, demand, &answer);
        if (r > 0)
            r = check_forward(prover, port, demand->outcome, probe, &answer, &index);
        if (r <= 0)
            return r;
        if (seen[index])
            return differs(prover, look_closer, "slot %u: %s a second time", slot,
                           endpoint_str(&answer.endpoint_value, text));
        seen[index] = true;
    }
    return 1;
}

static int prove_outcome(struct prover *prover, const struct nat_frontend *frontend,
                         const struct nat_outcome *outcome, struct nat_probe *probe)
{
    const struct nat_port *port = &prover->family->ports.items[frontend->port_index];
    const struct demand demand = demand_of(outcome);
    enum walked *walked = &prover->walked[frontend->port_index * NAT_SETS + outcome->set];
    struct nat_answer answer;
    size_t index = 0;

    prover->unseen = false;
    probe->pick = demand.outcome ? 1 : 0;
    int r = ask(prover, probe, &demand, &answer);
    if (r <= 0 || !demand.outcome)
        return r;
    r = check_forward(prover, port, outcome, probe, &answer, &index);
    const enum walked needed = returns_here(probe, &answer) ? WALKED_BOTH : WALKED_FORTH;
    if (r > 0 && *walked < needed) {
        r = walk_slots(prover, port, &demand, probe, index);
        if (r > 0)
            *walked = prover->unseen ? WALKED_FORTH : WALKED_BOTH;
    }
    return r;
}

/* ---- frontends ---- */

static const char *frontend_str(const struct nat_frontend *frontend,
                                char buffer[static FRONTEND_STRLEN])
{
    const struct nat_endpoint place = { frontend->address, frontend->port };
    char text[64];
    (void)snprintf(buffer, FRONTEND_STRLEN, "%s/%s", endpoint_str(&place, text),
                   protocol_name(frontend->protocol));
    return buffer;
}

/* By one interface. `ret_forwards` becomes true if a flow from there is forwarded. */
static int prove_source_by(struct prover *prover, const struct nat_frontend *frontend,
                           enum nat_origin origin, uint32_t ifindex, bool *ret_forwards)
{
    static const struct demand kept_out = { NAT_ACT_DROP, NAT_CAUSE_SOURCE_RANGE, NULL };
    const struct probe_origins *origins = prover->origins;
    const struct ip *from =
        prover->family->family == IP_V6 ? &origins->of[origin].v6 : &origins->of[origin].v4;
    struct nat_probe probe = {
        .hook = origins->of[origin].hook,
        .ifindex = ifindex,
        .ingress_ifindex = origins->of[origin].ingress_ifindex ? ifindex : 0,
        .source = *from,
        .destination = frontend->address,
        .source_port = PROBE_PORT,
        .destination_port = frontend->port,
        .protocol = frontend->protocol,
    };

    if (!origins->of[origin].there || from->family == IP_NONE)
        return 1;
    if (frontend->kind == NAT_FRONTEND_LOAD_BALANCER && !is_admitted(prover->family, from)) {
        struct nat_answer answer;
        int r = ask(prover, &probe, &kept_out, &answer);
        if (r <= 0 || !find_admitted(origins, prover->family, origin, &probe.source))
            return r;
    }
    int r = prove_outcome(prover, frontend, &frontend->from[origin], &probe);
    *ret_forwards |= r > 0 && frontend->from[origin].act == NAT_ACT_FORWARD;
    return r;
}

static int prove_source(struct prover *prover, const struct nat_frontend *frontend,
                        enum nat_origin origin, bool *ret_forwards)
{
    const struct probe_origins *origins = prover->origins;
    prover->walked = prover->walks[0];
    int r = prove_source_by(prover, frontend, origin, origins->of[origin].ifindex, ret_forwards);
    if (origin != NAT_ORIGIN_OUTSIDE)
        return r;
    for (size_t i = 0; r > 0 && i < origins->vrf_uplink_count; i++) {
        char why[WHY_SIZE], name[IF_NAMESIZE];
        prover->walked = prover->walks[i + 1];
        r = prove_source_by(prover, frontend, origin, origins->vrf_uplinks[i], ret_forwards);
        if (r != 0)
            continue;
        memcpy(why, prover->why, sizeof(why));
        (void)differs(prover, prover->remedy, "by %s: %.90s",
                      if_indextoname(origins->vrf_uplinks[i], name) ? name : "a VRF", why);
    }
    return r;
}

/* `ret_forwards` becomes true if something from outside or a pod is forwarded. */
static int prove_frontend(struct prover *prover, const struct nat_frontend *frontend,
                          struct faults *faults, bool *ret_forwards)
{
    bool forwards[NAT_ORIGINS] = { 0 };
    char name[FRONTEND_STRLEN], why[WHY_SIZE];
    int r = 1;

    for (enum nat_origin origin = 0; r > 0 && origin < NAT_ORIGINS; origin++) {
        r = prove_source(prover, frontend, origin, &forwards[origin]);
        if (r != 0)
            continue;
        memcpy(why, prover->why, sizeof(why));
        (void)differs(prover, prover->remedy, "from %s: %.100s", nat_origin_name(origin), why);
    }
    if (r < 0)
        return r;
    if (r == 0) {
        AUTOFREE char *place =
            text_format("Service %s/%s", prover->row->namespace, prover->row->name);
        if (!place)
            return -ENOMEM;
        faults_add(faults, place, prover->remedy, "%s: %s", frontend_str(frontend, name),
                   prover->why);
    }
    *ret_forwards |= forwards[NAT_ORIGIN_OUTSIDE] || forwards[NAT_ORIGIN_POD];
    return r;
}

/* All frontends from `frontend` on that have its address; their number goes to `ret_count`. */
static int prove_address(struct prover *prover, const struct nat_frontend *frontend,
                         nat_proof_list *proofs, struct faults *faults, size_t *ret_count)
{
    const struct nat_frontend *end =
        prover->family->frontends.items + prover->family->frontends.count;
    const struct nat_frontend *it = frontend;
    struct nat_proof proof = { .address = frontend->address };
    bool forwards = false, good = true, node_ports_only = true;
    char name[FRONTEND_STRLEN];

    for (; it < end && ip_equal(&it->address, &frontend->address); it++) {
        const bool node_port = it->kind == NAT_FRONTEND_NODE_PORT;
        bool does = false;
        int r = prove_frontend(prover, it, faults, &does);
        if (r < 0)
            return r;
        node_ports_only &= node_port;
        forwards |= !node_port && does;
        if (r == 0 && !node_port && good) {
            good = false;
            (void)snprintf(proof.why, sizeof(proof.why), "%s %s", frontend_str(it, name),
                           prover->why);
        }
    }
    *ret_count = (size_t)(it - frontend);
    if (good && !forwards)
        (void)snprintf(proof.why, sizeof(proof.why),
                       "nothing from outside or a pod is forwarded here");
    proof.as_planned = good;
    proof.served = good && forwards;
    return node_ports_only ? 0 : vec_push(proofs, proof);
}

int nat_prove(struct nat_plane *plane, const struct probe_origins *origins,
              const struct nat_row *row, nat_proof_list *proofs, struct faults *faults)
{
    for (uint32_t i = 0; i < row->family_count; i++) {
        const struct nat_family *family = &row->families[i];
        const size_t sets = family->ports.count * NAT_SETS + 1;
        AUTOFREE enum walked *walked = calloc(sets * (1 + PROBE_VRFS), sizeof(*walked));
        enum walked *walks[1 + PROBE_VRFS];
        struct prover prover = {
            .plane = plane,
            .origins = origins,
            .row = row,
            .family = family,
            .walks = walks,
        };
        if (!walked)
            return -ENOMEM;
        for (size_t j = 0; j < ARRAY_SIZE(walks); j++)
            walks[j] = &walked[j * sets];
        for (size_t j = 0, count = 0; j < family->frontends.count; j += count) {
            int r = prove_address(&prover, &family->frontends.items[j], proofs, faults, &count);
            if (r < 0)
                return r;
        }
    }
    return 0;
}
