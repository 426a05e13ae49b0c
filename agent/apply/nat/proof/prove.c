// SPDX-License-Identifier: Apache-2.0
/*
 * The proof, called after each write for the Services that were written.
 *
 * Each frontend is probed once for each kind of source: that gives verdict, cause, masquerading and
 * the set. The set's slots are then walked once for all frontends and sources that use it: their
 * differences are checked before an endpoint is chosen. So a Service costs about 3 x frontends +
 * endpoints runs of the twin, each some microseconds. A set that failed is walked again for the
 * next frontend that needs it, so that each has a fault of its own; that walk ends at the first
 * slot that fails.
 *
 * Source ranges: the source that represents its kind may be outside the ranges. Then it must be
 * dropped, and another one of the kind, inside a range, is used for the other probes (admitted.h).
 *
 * An endpoint without a route is a fault, but no more than that where others of its set are
 * reached: these serve the address by its policy. Otherwise, with the loss of a node, every address
 * with an endpoint there would be withdrawn, on all nodes at once.
 *
 * prove_path.c checks the paths in both directions.
 */
#include "apply/nat/proof/prove.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/proof/admitted.h"
#include "apply/nat/proof/prove_inside.h"
#include "base/macro.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum {
    PROBE_PORT = 50000,   /* the twin checks no flow, so any port will do */
    FRONTEND_STRLEN = 80, /* of "[2001:db8::1]:443/TCP" */
};
_Static_assert(sizeof(((struct nat_proof *)0)->why) >= FRONTEND_STRLEN + WHY_SIZE,
               "a proof says of which frontend, and why");

static const char look_closer[] = "see: agentctl verify";

/* ---- what the plan demands ---- */

struct demand {
    enum nat_act act;
    enum nat_cause cause;
    const struct nat_outcome *outcome; /* of a forwarded flow; otherwise NULL */
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
    int r = nat_datapath_name(prover->datapath, service, name);
    if (r < 0 || strncmp(name, prover->row->namespace, length) != 0 || name[length] != '/' ||
        strcmp(name + length + 1, prover->row->name) != 0)
        return prover_differs(prover, look_closer, "answered as %s", *name ? name : "no service");
    prover->service = service;
    return 1;
}

static int check_port(struct prover *prover, const struct nat_port *port,
                      const struct nat_answer *answer)
{
    uint8_t family = 0;
    enum protocol protocol = 0;
    uint16_t number = 0;

    if (nat_datapath_port(prover->datapath, answer->port, &family, &protocol, &number) &&
        family == prover->family->family && protocol == port->protocol && number == port->port)
        return 1;
    return prover_differs(prover, look_closer, "answered as port %u/%s", number,
                          protocol_name(protocol));
}

/* Masquerading by the rule; a flow back to its sender is always masqueraded. */
static int check_masquerade(struct prover *prover, const struct nat_outcome *outcome,
                            const struct nat_probe *probe, const struct nat_answer *answer)
{
    const bool back = ip_equal(&probe->source, &answer->endpoint_value.ip);
    const bool does = answer->masquerade != NAT_MASQUERADE_NO;

    if (does == (outcome->masquerade || back))
        return 1;
    return prover_differs(prover, look_closer, does ? "masqueraded" : "not masqueraded");
}

/* A forwarded flow: its destination, and whether there is a route. `ret_index`: of the planned
 * set. */
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
        return prover_differs(prover, look_closer,
                              "%u endpoints of the %s set instead of %zu of the %s", answer->count,
                              answer->set == NAT_SET_LOCAL ? "local" : "cluster", set->count,
                              outcome->set == NAT_SET_LOCAL ? "local" : "cluster");
    const char *where = prover_endpoint(&answer->endpoint_value, text);
    const struct nat_endpoint *planned = vec_find(set, &answer->endpoint_value, nat_endpoint_cmp);
    if (!planned)
        return prover_differs(prover, look_closer, "slot %u: %s is no endpoint of it", probe->pick,
                              where);
    *ret_index = (size_t)(planned - set->items);
    return prover_check_path(prover, port, probe, answer);
}

/* ---- probes ---- */

static const char *demand_str(enum nat_act act, enum nat_cause cause, char buffer[static 64])
{
    (void)snprintf(buffer, 64, cause == NAT_CAUSE_NONE ? "%s" : "%s (%s)", nat_act_name(act),
                   nat_cause_name(cause));
    return buffer;
}

/* Runs the twin and compares all but the destination of a forwarded flow. */
static int ask(struct prover *prover, const struct nat_probe *probe, const struct demand *demand,
               struct nat_answer *ret_answer)
{
    char got[64], wanted[64];

    int r = nat_datapath_probe(prover->datapath, probe, ret_answer);
    if (r == -ENOMEM)
        return r;
    prover->gone = r == -ENODEV && probe->hook == NAT_HOOK_POD_IN;
    if (r < 0)
        return prover_differs(prover, NULL, "the twin cannot be run: %s", strerror(-r));
    if (ret_answer->cause == NAT_CAUSE_NO_ROUTE)
        return prover_no_path(prover, probe, ret_answer);
    if (ret_answer->act != demand->act || ret_answer->cause != demand->cause)
        return prover_differs(prover, look_closer, "%s instead of %s",
                              demand_str(ret_answer->act, ret_answer->cause, got),
                              demand_str(demand->act, demand->cause, wanted));
    return check_service(prover, ret_answer->service);
}

/* Checks one slot. `ret_index`: of the endpoint in the planned set, if the slot is correct. */
static int prove_slot(struct prover *prover, const struct nat_port *port,
                      const struct demand *demand, const struct nat_probe *probe, size_t *ret_index)
{
    struct nat_answer answer;
    int r = ask(prover, probe, demand, &answer);
    if (r > 0 && demand->outcome)
        r = check_forward(prover, port, demand->outcome, probe, &answer, ret_index);
    return r;
}

/* Records the first slot without a route. */
static void note_lame(struct prover *prover)
{
    if (!*prover->lame)
        memcpy(prover->lame, prover->why, sizeof(prover->lame));
}

/*
 * Checks the slots of a set from `slot` on. `seen`: by endpoint of the plan, those of earlier
 * slots. Adds the number of slots without a route to `lost`.
 */
static int walk_slots(struct prover *prover, const struct nat_port *port,
                      const struct demand *demand, struct nat_probe *probe, bool *seen,
                      size_t *lost)
{
    const nat_endpoint_list *set = &port->sets[demand->outcome->set];
    char text[64];

    for (uint32_t slot = 2; slot <= set->count; slot++) {
        size_t index = 0;
        probe->pick = slot;
        int r = prove_slot(prover, port, demand, probe, &index);
        if (r == 0 && prover->lost) {
            note_lame(prover);
            ++*lost;
            continue;
        }
        if (r <= 0)
            return r;
        if (seen[index])
            return prover_differs(prover, look_closer, "slot %u: %s a second time", slot,
                                  prover_endpoint(&set->items[index], text));
        seen[index] = true;
    }
    return 1;
}

/* All slots of a set, of which the first is known: `first` 0: no route; 1: endpoint `index`. */
static int prove_set(struct prover *prover, const struct nat_port *port,
                     const struct demand *demand, struct nat_probe *probe, int first, size_t index)
{
    const nat_endpoint_list *set = &port->sets[demand->outcome->set];
    AUTOFREE bool *seen = calloc(set->count, sizeof(*seen));
    size_t lost = first ? 0 : 1;

    if (!seen)
        return -ENOMEM;
    if (first)
        seen[index] = true;
    else
        note_lame(prover);
    int r = walk_slots(prover, port, demand, probe, seen, &lost);
    if (r <= 0 || lost < set->count)
        return r;
    memcpy(prover->why, prover->lame, sizeof(prover->why));
    prover->lame[0] = '\0';
    prover->lost = true;
    return 0;
}

static int prove_outcome(struct prover *prover, const struct nat_frontend *frontend,
                         const struct nat_outcome *outcome, struct nat_probe *probe)
{
    const struct nat_port *port = &prover->family->ports.items[frontend->port_index];
    const struct demand demand = demand_of(outcome);
    enum walked *walked = &prover->walked[frontend->port_index * NAT_SETS + outcome->set];
    /* As in returns_here(), for all but flows back to their sender. */
    const bool returns = outcome->masquerade || probe->ingress_ifindex == 0;
    const enum walked needed = returns ? WALKED_BOTH : WALKED_FORTH;
    size_t index = 0;

    prover->unseen = false;
    probe->pick = demand.outcome ? 1 : 0;
    const int first = prove_slot(prover, port, &demand, probe, &index);
    if (first < 0 || !demand.outcome || (first == 0 && !prover->lost))
        return first;
    /* A walk with packets that kept their source does not check for an address to masquerade
     * with. */
    if (*walked >= needed && (first > 0 || !prover->sourceless))
        return 1;
    const int r = prove_set(prover, port, &demand, probe, first, index);
    if (r > 0)
        *walked = prover->unseen ? WALKED_FORTH : WALKED_BOTH;
    return r;
}

/* ---- frontends ---- */

static const char *frontend_str(const struct nat_frontend *frontend,
                                char buffer[static FRONTEND_STRLEN])
{
    const struct nat_endpoint place = { frontend->address, frontend->port };
    char text[64];
    (void)snprintf(buffer, FRONTEND_STRLEN, "%s/%s", prover_endpoint(&place, text),
                   protocol_name(frontend->protocol));
    return buffer;
}

/* Probes by one interface. `ret_forwards` becomes true if a flow from there is forwarded. */
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

    prover->gone = false;
    if (!origins->of[origin].there || from->family == IP_NONE)
        return 1;
    if (frontend->kind == NAT_FRONTEND_LOAD_BALANCER && !is_admitted(prover->family, from)) {
        struct nat_answer answer;
        int r = ask(prover, &probe, &kept_out, &answer);
        if (r == 0 && prover->gone)
            return 1;
        if (r <= 0 || !find_admitted(origins, prover->family, origin, &probe.source))
            return r;
    }
    int r = prove_outcome(prover, frontend, &frontend->from[origin], &probe);
    if (r == 0 && prover->gone)
        return 1;
    *ret_forwards |= r > 0 && frontend->from[origin].act == NAT_ACT_FORWARD;
    return r;
}

/* Adds by which of several uplinks the difference was found. */
static void name_uplink(char why[static WHY_SIZE], uint32_t ifindex)
{
    char name[IF_NAMESIZE], text[WHY_SIZE];
    (void)snprintf(text, sizeof(text), "by %s: %.90s",
                   if_indextoname(ifindex, name) ? name : "a VRF", why);
    memcpy(why, text, sizeof(text));
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
        const bool told = *prover->lame;
        prover->walked = prover->walks[i + 1];
        r = prove_source_by(prover, frontend, origin, origins->vrf_uplinks[i], ret_forwards);
        if (r == 0)
            name_uplink(prover->why, origins->vrf_uplinks[i]);
        else if (*prover->lame && !told)
            name_uplink(prover->lame, origins->vrf_uplinks[i]);
    }
    return r;
}

/*
 * A missing route to an endpoint is one fault, for all frontends and slots that use it: faults with
 * the same text are raised once.
 */
static int add_fault(struct prover *prover, const struct nat_frontend *frontend,
                     struct faults *faults, const char *why, bool lost)
{
    char name[FRONTEND_STRLEN];
    const char *words = lost ? strstr(why, "no way to ") : NULL;
    AUTOFREE char *place = text_format("Service %s/%s", prover->row->namespace, prover->row->name);
    if (!place)
        return -ENOMEM;
    if (words)
        fault_raise(faults, place, nat_endpoint_unreachable, .reason = words,
                    .remedy = prover->remedy);
    else
        fault_raise(faults, place, nat_proof_failed, .frontend = frontend_str(frontend, name),
                    .reason = why, .remedy = prover->remedy);
    return 0;
}

/* Probes from one origin; a difference is a fault, and set in prover->why if it refutes the
 * frontend. */
static int prove_origin(struct prover *prover, const struct nat_frontend *frontend,
                        enum nat_origin origin, struct faults *faults, bool *ret_forwards)
{
    char why[WHY_SIZE];
    prover->lame[0] = '\0';
    int r = prove_source(prover, frontend, origin, ret_forwards);
    if (r < 0 || (r > 0 && !*prover->lame))
        return r;
    const bool lost = prover->lost;
    memcpy(why, r > 0 ? prover->lame : prover->why, sizeof(why));
    (void)prover_differs(prover, prover->remedy, "from %s: %.100s", nat_origin_name(origin), why);
    return add_fault(prover, frontend, faults, prover->why, lost) < 0 ? -ENOMEM : r;
}

/* `ret_forwards` becomes true if a flow from outside or from a pod is forwarded. */
static int prove_frontend(struct prover *prover, const struct nat_frontend *frontend,
                          struct faults *faults, bool *ret_forwards)
{
    bool forwards[NAT_ORIGINS] = { 0 };
    int r = 1;
    for (enum nat_origin origin = 0; r > 0 && origin < NAT_ORIGINS; origin++)
        r = prove_origin(prover, frontend, origin, faults, &forwards[origin]);
    *ret_forwards |= forwards[NAT_ORIGIN_OUTSIDE] || forwards[NAT_ORIGIN_POD];
    return r;
}

/* All frontends from `frontend` on that have its address; returns their number in `ret_count`. */
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

int nat_prove(struct nat_datapath *datapath, const struct probe_origins *origins,
              const struct nat_row *row, nat_proof_list *proofs, struct faults *faults,
              bool *ret_lost)
{
    *ret_lost = false;
    for (uint32_t i = 0; i < row->family_count; i++) {
        const struct nat_family *family = &row->families[i];
        const size_t sets = family->ports.count * NAT_SETS + 1;
        AUTOFREE enum walked *walked = calloc(sets * (1 + PROBE_VRFS), sizeof(*walked));
        enum walked *walks[1 + PROBE_VRFS];
        struct prover prover = {
            .datapath = datapath,
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
        *ret_lost |= prover.any_lost;
    }
    return 0;
}
