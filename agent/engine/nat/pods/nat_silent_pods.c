// SPDX-License-Identifier: Apache-2.0
/*
 * Pods of this node that do not answer; see nat_silent_pods.h.
 *
 * A pod with NET_ADMIN may lose its address, and a route may lead to another pod's interface:
 * links, routes and programs are as planned then, and what Services forward there is lost. The
 * kernel detects this by ARP and neighbour discovery as soon as a packet is sent there. A few pods
 * are queried at each check, one Service after the other, as routers are (nat_routers.c): a pod
 * with a valid neighbour entry costs a query, and a packet to the pod where the entry was not
 * confirmed for about half a minute. A silent pod is queried at each check, until it answers, its
 * route leads elsewhere, or no Service has it here any more.
 *
 * A new pod may run duplicate address detection for its IPv6 address for a second or two, and
 * answers for it after that. So the fault requires three seconds of silence.
 */
#include "engine/nat/pods/nat_silent_pods.h"

#include "apply/lookup.h"
#include "apply/netlink/neighbour.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/text.h"
#include "engine/nat/nat_state.h"
#include "engine/nat/pods/nat_set_pods.h"
#include "faults/nat.h"
#include "faults/raise.h"

enum {
    SILENT_MS = 3000,
    PODS_A_LOOK = 4,
    ROWS_A_LOOK = 256,
    SILENT_MAX = 16, /* that are followed and reported */
};

/* The pod of a row by its number among those of this node, over families and ports. NULL: none. */
static const struct ip *pod_of(const struct nat_row *row, size_t number)
{
    for (uint32_t i = 0; i < row->family_count; i++) {
        vec_each(const struct nat_port, port, &row->families[i].ports) {
            if (number < port->sets[NAT_SET_LOCAL].count)
                return &port->sets[NAT_SET_LOCAL].items[number].ip;
            number -= port->sets[NAT_SET_LOCAL].count;
        }
    }
    return NULL;
}

/* The interface on which the kernel resolves the pod as a neighbour; NULL: it resolves none. */
static const struct link *link_to(const struct nat_engine *engine, const struct ip *pod)
{
    struct route route;
    if (route_matched(engine->socket, pod, &route) <= 0 || route.type != RTN_UNICAST ||
        route.gateway.family != IP_NONE)
        return NULL;
    const struct link *link = link_find(kernel_links(engine->kernel), route.ifindex);
    return link && link->up && !link->unplugged && link_has_neighbours(link) ? link : NULL;
}

static struct nat_silent_pod *find(const struct nat_silent_pods *pods, const struct ip *ip)
{
    vec_each(struct nat_silent_pod, pod, &pods->list) {
        if (ip_equal(&pod->ip, ip))
            return pod;
    }
    return NULL;
}

static bool answers(const struct nat_engine *engine, const struct link *link, const struct ip *pod)
{
    bool does = true;
    return nl_neighbour_check(engine->socket, link->ifindex, pod, &does) < 0 || does;
}

static void ask(struct nat_engine *engine, const struct ip *ip, int64_t now_ms)
{
    struct nat_silent_pods *pods = &engine->silent_pods;
    const struct link *link =
        pods->list.count < SILENT_MAX && !find(pods, ip) ? link_to(engine, ip) : NULL;
    if (link && !answers(engine, link, ip))
        (void)vec_push(&pods->list, (struct nat_silent_pod){ *ip, link->ifindex, now_ms });
    else if (link)
        nat_set_pods_ask(engine, link->ifindex, ip, now_ms);
}

/* Continues where the last check ended, and starts again behind the last Service. */
static void ask_some(struct nat_engine *engine, int64_t now_ms)
{
    struct nat_silent_pods *pods = &engine->silent_pods;
    const size_t rows = engine->rows.count;
    size_t left = PODS_A_LOOK;
    for (size_t seen = 0; seen < MIN(rows, (size_t)ROWS_A_LOOK) && left > 0;) {
        pods->row = pods->row < rows ? pods->row : 0;
        struct nat_row *const *row = sorted_at(&engine->rows, pods->row);
        const struct ip *pod = pod_of(*row, pods->pod);
        if (pod) {
            ask(engine, pod, now_ms);
            pods->pod++;
            left--;
        } else {
            pods->row++;
            pods->pod = 0;
            seen++;
        }
    }
}

static bool is_served(const struct nat_engine *engine, const struct ip *ip)
{
    sorted_each(struct nat_row *const, row, &engine->rows) {
        const struct ip *pod;
        for (size_t i = 0; (pod = pod_of(*row, i)); i++) {
            if (ip_equal(pod, ip))
                return true;
        }
    }
    return false;
}

/* Whether it still does not answer where it was last resolved. */
static bool is_silent(const struct nat_engine *engine, const struct nat_silent_pod *pod)
{
    const struct link *link = is_served(engine, &pod->ip) ? link_to(engine, &pod->ip) : NULL;
    return link && link->ifindex == pod->ifindex && !answers(engine, link, &pod->ip);
}

static void forget_found(struct nat_engine *engine)
{
    struct nat_silent_pods *pods = &engine->silent_pods;
    size_t kept = 0;
    for (size_t i = 0; i < pods->list.count; i++) {
        if (is_silent(engine, &pods->list.items[i]))
            pods->list.items[kept++] = pods->list.items[i];
    }
    pods->list.count = kept;
}

static void tell(const struct nat_engine *engine, const struct nat_silent_pod *pod,
                 struct faults *faults)
{
    const struct link *link = link_find(kernel_links(engine->kernel), pod->ifindex);
    char text[IP_STRLEN];
    AUTOFREE char *place = text_format("endpoint %s", ip_str(&pod->ip, text));
    fault_raise(faults, place, nat_pod_silent, .address = text,
                .interface = link ? link->name : "its interface",
                .ip = pod->ip.family == IP_V6 ? "ip -6" : "ip");
}

void nat_silent_pods_look(struct nat_engine *engine, int64_t now_ms)
{
    AUTOFAULTS struct faults faults = { 0 };
    forget_found(engine);
    nat_set_pods_tell(engine, &faults);
    ask_some(engine, now_ms);
    vec_each(const struct nat_silent_pod, pod, &engine->silent_pods.list) {
        if (now_ms - pod->silent_ms >= SILENT_MS)
            tell(engine, pod, &faults);
    }
    nat_state_report(engine, "silent pods", &faults);
}
