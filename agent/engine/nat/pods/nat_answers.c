// SPDX-License-Identifier: Apache-2.0
/*
 * Replies of pods; see nat_answers.h. A rule can select by source or by input interface. A rule
 * that refuses what pods send (`ip rule add from NETWORK prohibit`, `iif`) admits requests, and
 * proofs succeed, since these look up the route to the pod; the pod's replies are lost.
 *
 * So the kernel's own lookup is queried for the route of a reply, for a few pods: it takes rules,
 * tables and rp_filter into account. A fault is raised for replies of pods that are refused to
 * every client tried, while this node's own packets to them pass: a route that refuses all traffic
 * is reported as that (nat_routers.c), and so is forwarding that is off. The result must hold in
 * two checks, as rules of a VPN are replaced one by one.
 */
#include "engine/nat/pods/nat_answers.h"

#include "apply/lookup.h"
#include "apply/nat/host/host.h"
#include "base/macro.h"
#include "base/text.h"
#include "engine/nat/nat_state.h"
#include "engine/nat/pods/nat_samples.h"
#include "faults/nat.h"
#include "faults/raise.h"

static const unsigned tell_after = 2;

int nat_answer_way(const struct nat_engine *engine, const struct ip *pod, const struct ip *client,
                   struct answer_way *ret_way)
{
    const struct route_query there = { .destination = *pod };
    struct route_found found;
    int r = route_lookup(engine->socket, &there, &found);
    if (r < 0 || found.type != RTN_UNICAST)
        return r;
    const struct route_query back = { *client, *pod, found.ifindex };
    const uint32_t in = found.ifindex;
    r = route_lookup(engine->socket, &back, &found);
    if (r < 0)
        return r;
    *ret_way = (struct answer_way){
        .in = in,
        .out = found.type == RTN_UNICAST ? found.ifindex : 0,
        .refused = found.refused,
    };
    return 1;
}

/* Whether packets that enter by an interface are forwarded at all. */
static bool forwards(const struct link *link)
{
    AUTOFAULTS struct faults faults = { 0 };
    nat_host_check_interface(link->name, true, false, &faults);
    return faults_none(&faults);
}

static bool node_reaches(const struct nat_engine *engine, const struct ip *client)
{
    bool reaches = false;
    return route_reaches(engine->socket, client, &reaches) == 0 && reaches;
}

static bool is_refused(const struct nat_engine *engine, const struct ip *pod,
                       const struct ip *client, struct answer_way *path)
{
    return nat_answer_way(engine, pod, client, path) > 0 && path->refused &&
           node_reaches(engine, client);
}

static void tell(const struct nat_engine *engine, const struct ip *pod, const struct ip *client,
                 const struct answer_way *path, struct faults *faults)
{
    const struct link *link = link_find(kernel_links(engine->kernel), path->in);
    const char *ip = pod->family == IP_V6 ? "ip -6" : "ip", *name = link ? link->name : "INTERFACE";
    char source[IP_STRLEN], destination[IP_STRLEN];
    if (!link || !forwards(link))
        return;
    ip_str(pod, source);
    ip_str(client, destination);
    fault_raise(faults, "routes", nat_replies_refused, .ip = ip, .source = source,
                .interface = name, .destination = destination);
}

/* Reports the first pod of a family if it is refused every client, and the others as well. */
static bool look(const struct nat_engine *engine, uint8_t family, struct faults *faults)
{
    const struct nat_endpoint *pods[NAT_SAMPLE_PODS];
    struct ip clients[NAT_SAMPLE_CLIENTS];
    struct answer_way first = { 0 }, path;
    size_t pod_count = nat_sample_pods(engine, family, PROTOCOL_TCP, pods);
    const size_t client_count = nat_sample_clients(engine, family, clients);

    if (pod_count == 0)
        pod_count = nat_sample_pods(engine, family, PROTOCOL_UDP, pods);
    for (size_t i = 0; i < pod_count; i++) {
        for (size_t j = 0; j < client_count; j++) {
            if (!is_refused(engine, &pods[i]->ip, &clients[j], &path))
                return false;
            first = first.in ? first : path;
        }
    }
    if (pod_count == 0 || client_count == 0)
        return false;
    tell(engine, &pods[0]->ip, &clients[0], &first, faults);
    return true;
}

void nat_answers_look(struct nat_engine *engine)
{
    static const uint8_t families[] = { IP_V4, IP_V6 };
    AUTOFAULTS struct faults faults = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        AUTOFAULTS struct faults found = { 0 };
        unsigned *refused = &engine->answers.refused[i];
        *refused = look(engine, families[i], &found) ? MIN(*refused + 1, tell_after) : 0;
        if (*refused == tell_after)
            faults_take(&faults, &found);
    }
    nat_state_report(engine, "answers", &faults);
}
