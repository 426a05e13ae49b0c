// SPDX-License-Identifier: Apache-2.0
/*
 * `agentctl trace`: the path of one packet, from where it enters to where it leaves.
 *
 *   1. Where does it enter? At the requested interface. By default the kernel's route to the
 *      packet's source decides: this node itself ("host"), or a pod's interface. A packet of any
 *      other source is assumed to enter by the first uplink.
 *   2. Which program processes it? The one on that interface. If there is none, the kernel's route
 *      to the destination decides: svc0, or lo.
 *   3. What is the program's verdict? The twin is queried for a new flow; then, if the request has
 *      a source port, for the existing flow.
 *
 * story.c does 1 and 2. Nothing is computed from objects or from the plan, except the name of a
 * port, because the maps only hold its number. The kernel is also queried for what the stack does
 * with a packet that passes: a guarded address passes at an uplink and is refused behind it.
 */
#include "engine/nat/trace/trace.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "apply/nat/proof/children.h"
#include "base/macro.h"
#include "engine/nat/trace/story.h"
#include "plan/link_table.h"

enum {
    ANY_PORT = 50000, /* if the question names none */
    ENDPOINTS_TOLD = 8,
};

static const char *interface_name(uint32_t ifindex, char buffer[static IF_NAMESIZE])
{
    const char *name = if_indextoname(ifindex, buffer);
    return name ? name : "an interface that is gone";
}

static const char *place_str(const struct nat_endpoint *place, char buffer[static 64])
{
    char address[IP_STRLEN];
    (void)snprintf(buffer, 64, place->ip.family == IP_V6 ? "[%s]:%u" : "%s:%u",
                   ip_str(&place->ip, address), place->port);
    return buffer;
}

/* ---- the program's verdict ---- */

/* The plan's name of a port; NULL if the port or its Service is unnamed or gone. */
static const char *port_name(const struct sorted *rows, const char *service, uint8_t family,
                             enum protocol protocol, uint16_t number)
{
    char words[NAT_NAME_MAX];
    (void)snprintf(words, sizeof(words), "%s", service);
    char *slash = strchr(words, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    struct nat_row key = { .namespace = words, .name = slash + 1 };
    const struct nat_row *wanted = &key;
    struct nat_row *const *row = sorted_find(rows, &wanted);
    for (uint32_t i = 0; row && i < (*row)->family_count; i++) {
        if ((*row)->families[i].family != family)
            continue;
        vec_each(const struct nat_port, port, &(*row)->families[i].ports) {
            if (port->protocol == protocol && port->port == number && *port->name)
                return port->name;
        }
    }
    return NULL;
}

/* "namespace/name:port", by the port's name, or its number where it has none. */
static void name_service(struct story *story, const struct nat_answer *answer)
{
    struct nat_datapath *datapath = story->tracer->datapath;
    char *service = story->trace->service;
    const size_t size = sizeof(story->trace->service);
    char name[NAT_NAME_MAX] = "";
    uint8_t family = 0;
    enum protocol protocol = 0;
    uint16_t number = 0;

    if (nat_datapath_name(datapath, answer->service, name) < 0 || !*name ||
        !nat_datapath_port(datapath, answer->port, &family, &protocol, &number))
        return;
    const char *port = port_name(story->tracer->rows, name, family, protocol, number);
    if (port)
        (void)snprintf(service, size, "%s:%s", name, port);
    else
        (void)snprintf(service, size, "%s:%u", name, number);
    trace_tell(story->trace, "service", "%s has this address, port and protocol", service);
}

/*
 * Finds whether the source is masqueraded. The program's answer shows it, unless the program picked
 * the sender itself as the endpoint: such a packet is always masqueraded. Then the query is
 * repeated for another endpoint, if the set has one.
 */
static int settle_masquerade(struct story *story, const struct nat_answer *picked)
{
    const struct ip *source = &story->probe.source;
    struct nat_answer answer = *picked;
    bool is_member = false;

    vec_each(const struct nat_endpoint, endpoint, &story->trace->endpoints)
        is_member |= ip_equal(&endpoint->ip, source);
    for (uint32_t slot = 1; ip_equal(&answer.endpoint_value.ip, source) && slot <= picked->count;
         slot++) {
        struct nat_probe probe = story->probe;
        probe.pick = slot;
        int r = nat_datapath_probe(story->tracer->datapath, &probe, &answer);
        if (r < 0)
            return r;
    }
    if (answer.masquerade == NAT_MASQUERADE_YES)
        story->trace->masquerade = TRACE_MASQUERADE_YES;
    else
        story->trace->masquerade = is_member ? TRACE_MASQUERADE_HAIRPIN : TRACE_MASQUERADE_NO;
    return 0;
}

/* Describes how a packet continues to the endpoint. */
static void describe_way(const struct story *story, const struct nat_answer *answer,
                         struct text *path)
{
    char name[IF_NAMESIZE];
    const struct sorted *links = story->tracer->links;
    const struct link *link = links && answer->out ? link_find(links, answer->out) : NULL;
    if (answer->route == NAT_ROUTE_SVC0)
        text_add(path, "but that is an address of a Service: it is lost");
    else if (answer->route == NAT_ROUTE_NO_SOURCE)
        text_add(path, "but this node has no address to masquerade with: it is lost");
    else if (answer->route != 0)
        text_add(path, "but the kernel has no way there: it is lost");
    else if (link && link->unplugged)
        text_addf(path, "by %s, which has no carrier: it is lost", link->name);
    else if (answer->out)
        text_addf(path, "the kernel has a way there, by %s", interface_name(answer->out, name));
    else
        text_add(path, "the kernel has a way there");
}

static void tell_endpoints(struct story *story, const struct nat_answer *answer)
{
    const nat_endpoint_list *endpoints = &story->trace->endpoints;
    AUTOTEXT struct text list = { 0 }, path = { 0 };
    char place[64];

    for (size_t i = 0; i < endpoints->count && i < ENDPOINTS_TOLD; i++)
        text_addf(&list, "%s%s", i ? ", " : "", place_str(&endpoints->items[i], place));
    if (endpoints->count > ENDPOINTS_TOLD)
        text_addf(&list, " and %zu more", endpoints->count - ENDPOINTS_TOLD);
    trace_tell(story->trace, "endpoints", "one of the %s set of %zu: %s",
               answer->set == NAT_SET_LOCAL ? "local" : "cluster", endpoints->count,
               text_str(&list));
    describe_way(story, answer, &path);
    trace_tell(story->trace, "picked", "%s, this time; %s",
               place_str(&answer->endpoint_value, place), text_str(&path));
}

static void tell_masquerade(struct story *story)
{
    char address[IP_STRLEN];

    (void)ip_str(&story->question->source, address);
    switch (story->trace->masquerade) {
    case TRACE_MASQUERADE_YES:
        trace_tell(story->trace, "source", "masqueraded: %s becomes an address of this node",
                   address);
        return;
    case TRACE_MASQUERADE_HAIRPIN:
        trace_tell(story->trace, "source",
                   "%s, but masqueraded on the way back to itself (hairpin)", address);
        return;
    case TRACE_MASQUERADE_NO:
        trace_tell(story->trace, "source", "%s, as it came", address);
        return;
    case TRACE_MASQUERADE_NONE:
        return;
    }
}

/*
 * The reply to a packet of the node itself enters by the interface by which the packet left; a
 * reply on lo never left the node. There the kernel drops a reply to 127.0.0.1 unless
 * route_localnet is set, one from an address of this node unless accept_local is set, and one to
 * ::1 at svc0.
 */
static int tell_refused_answer(struct story *story, const struct ip *endpoint)
{
    struct route_query query = { .destination = *endpoint };
    char name[IF_NAMESIZE], service[IP_STRLEN], address[IP_STRLEN];
    struct route_found found;

    int r = route_lookup(story->tracer->socket, &query, &found);
    if (r < 0 || (found.type == RTN_LOCAL && story->probe.hook == NAT_HOOK_LO_OUT))
        return r;
    query = (struct route_query){
        .destination = story->question->source,
        .source = story->question->destination,
        .ifindex = story->probe.ifindex,
    };
    r = route_lookup(story->tracer->socket, &query, &found);
    if (r < 0)
        return r;
    if (found.type == RTN_BLACKHOLE || found.type == RTN_UNREACHABLE)
        trace_tell(story->trace, "answer",
                   "comes in by %s, where the kernel drops what is from %s for %s: it is lost",
                   interface_name(query.ifindex, name), ip_str(&query.source, service),
                   ip_str(&query.destination, address));
    return 0;
}

/* Replies to the node's own address are lost where no program of ours processes them. */
static void tell_unseen_answer(struct story *story, const struct nat_answer *answer)
{
    const struct tracer *tracer = story->tracer;
    const bool returns = answer->masquerade != NAT_MASQUERADE_NO || story->ifindex == 0;
    char name[IF_NAMESIZE];

    if (returns && answer->out &&
        !nat_sees_replies(tracer->attachments, tracer->attachment_count, answer->out))
        trace_tell(story->trace, "answer", "comes in by %s, where our program is not: it is lost",
                   interface_name(answer->out, name));
}

/* Packets sent by a parent of macvlan or ipvlan devices never reach a pod here on one of those. */
static int tell_child(struct story *story, const struct nat_answer *answer)
{
    const struct tracer *tracer = story->tracer;
    AUTOVEC nat_endpoint_list here = { 0 };
    char name[IF_NAMESIZE];

    if (!nat_may_be_parent(tracer->attachments, tracer->attachment_count, answer->out))
        return 0;
    int r = nat_datapath_set_endpoints(tracer->datapath, answer->service, answer->port,
                                       NAT_SET_LOCAL, &here);
    if (r < 0)
        return r;
    vec_sort(&here, nat_endpoint_cmp);
    if (vec_find(&here, &answer->endpoint_value, nat_endpoint_cmp) &&
        nat_children_of(answer->out) != NAT_CHILDREN_NONE)
        trace_tell(story->trace, "limit",
                   "the endpoint is on this node, and what %s sends never reaches its own macvlan "
                   "or ipvlan children: it is lost",
                   interface_name(answer->out, name));
    return 0;
}

static int follow_forward(struct story *story, const struct nat_answer *answer)
{
    struct trace *trace = story->trace;

    trace->picked = answer->endpoint_value;
    int r = nat_datapath_set_endpoints(story->tracer->datapath, answer->service, answer->port,
                                       answer->set, &trace->endpoints);
    if (r < 0)
        return r;
    r = settle_masquerade(story, answer);
    if (r < 0)
        return r;
    tell_endpoints(story, answer);
    tell_masquerade(story);
    tell_unseen_answer(story, answer);
    r = tell_child(story, answer);
    if (r < 0)
        return r;
    if (story->probe.hook == NAT_HOOK_POD_IN && answer->masquerade == NAT_MASQUERADE_NO) {
        r = story_go_behind(story, &answer->endpoint_value);
        return r < 0 ? r : 0;
    }
    return answer->route == 0 && story->ifindex == 0
               ? tell_refused_answer(story, &answer->endpoint_value.ip)
               : 0;
}

/* The stack decides over packets that pass, and ends the trace; behind svc0 there is no stack. */
static int follow_pass(struct story *story)
{
    static const char *const types[] = {
        [RTN_UNICAST] = "routes it on",
        [RTN_LOCAL] = "delivers it on this node",
        [RTN_BLACKHOLE] = "drops it",
        [RTN_UNREACHABLE] = "refuses it: unreachable",
        [RTN_PROHIBIT] = "refuses it: prohibited",
    };
    char name[IF_NAMESIZE];

    if (story->trace->hook && story->probe.hook == NAT_HOOK_SVC_OUT)
        return 0;
    int taken = story_go_behind(story, NULL);
    if (taken)
        return taken < 0 ? taken : 0;
    if (story->trace->hook && story->ifindex) {
        int r = story_route(story);
        if (r < 0)
            return r;
    }
    const uint8_t type = story->route.type;
    if (type == RTN_UNICAST)
        trace_tell(story->trace, "then", "the kernel routes it on, out of %s%s",
                   interface_name(story->route.ifindex, name),
                   story->tracer->svc0_ifindex &&
                           story->route.ifindex == story->tracer->svc0_ifindex
                       ? ", where what no Service has is refused"
                       : "");
    else
        trace_tell(story->trace, "then", "the kernel %s",
                   type < ARRAY_SIZE(types) && types[type] ? types[type] : "routes it");
    return 0;
}

static bool has_frontend(const struct nat_row *row, const struct trace_question *question)
{
    const struct nat_frontend wanted = {
        .address = question->destination,
        .protocol = question->protocol,
        .port = question->destination_port,
    };
    for (uint32_t i = 0; i < row->family_count; i++) {
        const struct nat_frontend *found =
            vec_find(&row->families[i].frontends, &wanted, nat_frontend_cmp);
        if (found)
            return found->kind == NAT_FRONTEND_LOAD_BALANCER ||
                   found->kind == NAT_FRONTEND_EXTERNAL_IP;
    }
    return false;
}

/*
 * The Service of a load balancer or external address whose packets no program processes. Such an
 * address belongs to another Node or balancer, or is in a network of this node: no route leads it
 * to svc0, because that would divert it from its host. NULL: there is none.
 */
static const struct nat_row *find_unled(const struct story *story)
{
    if (story->trace->hook)
        return NULL;
    for (size_t i = 0; i < story->tracer->rows->count; i++) {
        const struct nat_row *row = *(struct nat_row **)sorted_at(story->tracer->rows, i);
        if (has_frontend(row, story->question))
            return row;
    }
    return NULL;
}

static void tell_limit(struct story *story, const struct nat_row *row)
{
    char who[64] = "the node's own packets go";
    if (story->ifindex)
        (void)snprintf(who, sizeof(who), "what comes in by %s goes", story->trace->in);
    trace_tell(story->trace, "limit",
               "Service %s/%s has this address, port and protocol, but %s to the host that has the "
               "address: another Node's or balancer's, and those of a network that this node is "
               "in, are not led to svc0",
               row->namespace, row->name, who);
}

static void tell_verdict(struct story *story)
{
    static const char *const ends[] = {
        [NAT_ACT_PASS] = "",
        [NAT_ACT_FORWARD] = "",
        [NAT_ACT_REJECT] = ", which the sender is told (ICMP port unreachable)",
        [NAT_ACT_DROP] = ", silently",
    };
    const struct trace *trace = story->trace;
    const struct nat_row *unled = find_unled(story);

    if (unled)
        trace_tell(story->trace, "verdict", "%s: no program sees it", nat_act_name(trace->act));
    else if (trace->cause == NAT_CAUSE_NONE)
        trace_tell(story->trace, "verdict", "%s%s", nat_act_name(trace->act),
                   trace->act == NAT_ACT_PASS ? ": it concerns no Service" : "");
    else
        trace_tell(story->trace, "verdict", "%s%s: %s", nat_act_name(trace->act), ends[trace->act],
                   nat_cause_text(trace->cause));
    if (unled)
        tell_limit(story, unled);
}

static int ask_new_flow(struct story *story)
{
    struct nat_answer answer = { .act = NAT_ACT_PASS };

    if (story->trace->hook) {
        int r = nat_datapath_probe(story->tracer->datapath, &story->probe, &answer);
        if (r < 0)
            return r;
        name_service(story, &answer);
    }
    story->trace->act = answer.act;
    story->trace->cause = answer.cause;
    tell_verdict(story);
    if (answer.act == NAT_ACT_FORWARD)
        return follow_forward(story, &answer);
    return answer.act == NAT_ACT_PASS ? follow_pass(story) : 0;
}

/* ---- the existing flow ---- */

static bool is_answered(enum nat_state state)
{
    return state != NAT_STATE_HALF_OPEN && state != NAT_STATE_UNANSWERED;
}

/*
 * Whether packets of a forward half follow it. The twin answers for the first packet of a
 * connection; an established TCP connection continues even where a first packet would begin a new
 * flow.
 */
static bool is_followed(const struct story *story, const struct nat_found_flow *found)
{
    struct nat_probe probe = story->probe;
    struct nat_answer answer;

    if (found->half != NAT_HALF_FORWARD)
        return !found->stale || probe.protocol == PROTOCOL_TCP;
    if (is_answered(found->state) && probe.protocol == PROTOCOL_TCP)
        return true;
    probe.see_flows = true;
    /* For an existing flow, the twin names the endpoint and no set. */
    return nat_datapath_probe(story->tracer->datapath, &probe, &answer) == 0 &&
           answer.act == NAT_ACT_FORWARD && answer.count == 0;
}

static void ask_flow(struct story *story)
{
    struct trace_flow *flow = &story->trace->flow;
    struct nat_found_flow found;
    char source[64], destination[64];

    if (!story->trace->hook || story->question->source_port == 0 ||
        !nat_datapath_find_flow(story->tracer->datapath, &story->probe, &found) || found.egress ||
        !is_followed(story, &found))
        return;
    *flow = (struct trace_flow){
        .found = true,
        .half = found.half,
        .established = is_answered(found.state),
        .masqueraded = found.masqueraded,
        .source = found.source,
        .destination = found.destination,
        .idle_s = found.idle_s,
    };
    if (found.half == NAT_HALF_DIRECT)
        trace_tell(story->trace, "flow", "a direct one: its packets go on as they are");
    else
        trace_tell(story->trace, "flow", "%s one: its packets go on as %s -> %s",
                   is_answered(found.state) ? "an established" : "a half-open",
                   place_str(&found.source, source), place_str(&found.destination, destination));
}

int trace_packet(const struct tracer *tracer, const struct trace_question *question,
                 struct trace *ret_trace)
{
    CLEANUP(trace_done) struct trace trace = { 0 };
    struct story story = {
        .tracer = tracer,
        .question = question,
        .trace = &trace,
        .probe = {
            .source = question->source,
            .destination = question->destination,
            .source_port = question->source_port ? question->source_port : ANY_PORT,
            .destination_port = question->destination_port,
            .protocol = question->protocol,
        },
    };

    if (!tracer->datapath && !tracer->next)
        return -EOPNOTSUPP;
    int r = story_enter(&story);
    if (r < 0)
        return r;
    r = story_find_program(&story);
    if (r < 0)
        return r;
    r = ask_new_flow(&story);
    if (r < 0)
        return r;
    ask_flow(&story);
    if (trace.failed)
        return -ENOMEM;
    *ret_trace = trace;
    trace = (struct trace){ 0 };
    return 0;
}
