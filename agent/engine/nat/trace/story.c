// SPDX-License-Identifier: Apache-2.0
/*
 * The first half of a trace: where a packet enters the node, and which program processes it.
 *
 * The kernel's route to the packet's source determines where it enters: a reply would leave there.
 * If that interface carries a program, this program processes the packet first. The node's own
 * packets, and those that enter by another interface, are processed at the output interface of the
 * kernel's route to their destination: svc0 or lo.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "engine/nat/trace/story.h"

/* ---- where it enters ---- */

static const struct nat_attachment *find_attachment(const struct tracer *tracer, uint32_t ifindex,
                                                    enum nat_hook hook)
{
    for (size_t i = 0; i < tracer->attachment_count; i++) {
        const struct nat_attachment *it = &tracer->attachments[i];
        if ((ifindex == 0 || it->ifindex == ifindex) && it->hook == hook)
            return it;
    }
    return NULL;
}

/* The same for programs behind service NAT. Packets do not enter by lo. */
static const struct nat_attachment *find_behind(const struct tracer *tracer, uint32_t ifindex,
                                                enum nat_hook hook)
{
    if (!tracer->next)
        return NULL;
    vec_each(const struct nat_attachment, it, tracer->next->attached) {
        if ((ifindex == 0 || it->ifindex == ifindex) && it->hook == hook &&
            strcmp(it->name, "lo") != 0)
            return it;
    }
    return NULL;
}

static bool is_pod(const struct tracer *tracer, uint32_t ifindex)
{
    return find_attachment(tracer, ifindex, NAT_HOOK_POD_IN) ||
           find_behind(tracer, ifindex, EGRESS_HOOK_CLIENT_IN);
}

static const struct nat_attachment *first_uplink(const struct tracer *tracer)
{
    const struct nat_attachment *uplink = find_attachment(tracer, 0, NAT_HOOK_UPLINK_IN);
    return uplink ? uplink : find_behind(tracer, 0, EGRESS_HOOK_GATEWAY_IN);
}

static void come_from_host(struct story *story)
{
    (void)snprintf(story->trace->in, sizeof(story->trace->in), "host");
}

static void come_from(struct story *story, uint32_t ifindex)
{
    story->ifindex = ifindex;
    (void)if_indextoname(ifindex, story->trace->in);
}

static int come_as_told(struct story *story, const char *in)
{
    if (strcmp(in, "host") == 0) {
        come_from_host(story);
        trace_tell(story->trace, "in", "host: made on this node, as asked");
        return 0;
    }
    uint32_t ifindex = if_nametoindex(in);
    if (ifindex == 0)
        return -ENODEV;
    come_from(story, ifindex);
    trace_tell(story->trace, "in", "%s, as asked", in);
    return 0;
}

static int come_by_source(struct story *story)
{
    const struct tracer *tracer = story->tracer;
    const struct route_query query = { .destination = story->question->source };
    char address[IP_STRLEN];
    struct route_found found;

    int r = route_lookup(tracer->socket, &query, &found);
    if (r < 0)
        return r;
    (void)ip_str(&story->question->source, address);
    if (found.type == RTN_LOCAL) {
        come_from_host(story);
        trace_tell(story->trace, "in", "host: %s is an address of this node", address);
        return 0;
    }
    if (found.type == RTN_UNICAST && is_pod(tracer, found.ifindex)) {
        come_from(story, found.ifindex);
        trace_tell(story->trace, "in", "%s: a pod's interface, to which the route to %s leads",
                   story->trace->in, address);
        return 0;
    }
    const struct nat_attachment *uplink = first_uplink(tracer);
    if (!uplink && !tracer->datapath && found.type == RTN_UNICAST) {
        come_from(story, found.ifindex);
        trace_tell(story->trace, "in", "%s: the route to %s leads there", story->trace->in,
                   address);
        return 0;
    }
    if (!uplink)
        return -EADDRNOTAVAIL;
    come_from(story, uplink->ifindex);
    trace_tell(story->trace, "in",
               "%s: the first uplink, since %s is neither this node nor a pod on it", uplink->name,
               address);
    return 0;
}

int story_enter(struct story *story)
{
    const char *in = story->question->in;
    return in ? come_as_told(story, in) : come_by_source(story);
}

/* ---- which program processes it ---- */

/* The kernel accepts no source that is not local (a served address): it is left out. */
static int route_from_host(struct story *story)
{
    struct route_query query = { .destination = story->question->source };
    struct route_found found;

    int r = route_lookup(story->tracer->socket, &query, &found);
    if (r < 0)
        return r;
    query = (struct route_query){ .destination = story->question->destination };
    if (found.type == RTN_LOCAL)
        query.source = story->question->source;
    return route_lookup(story->tracer->socket, &query, &story->route);
}

int story_route(struct story *story)
{
    const struct route_query query = {
        .destination = story->question->destination,
        .source = story->question->source,
        .ifindex = story->ifindex,
    };
    return route_lookup(story->tracer->socket, &query, &story->route);
}

static void see(struct story *story, enum nat_hook hook, uint32_t ifindex)
{
    story->probe.hook = hook;
    story->probe.ifindex = ifindex;
    story->probe.ingress_ifindex = story->ifindex;
    story->probe.see_came = true;
    story->trace->hook = nat_hook_name(hook);
}

/* By the kernel's route: svc0, or lo. */
static void see_by_route(struct story *story)
{
    const uint32_t svc0 = story->tracer->svc0_ifindex;
    char address[IP_STRLEN];

    (void)ip_str(&story->question->destination, address);
    if (story->route.type == RTN_UNICAST && svc0 && story->route.ifindex == svc0) {
        see(story, NAT_HOOK_SVC_OUT, svc0);
        trace_tell(story->trace, "program", "svc-out: the route to %s leads to svc0", address);
    } else if (story->route.type == RTN_LOCAL && story->ifindex == 0) {
        see(story, NAT_HOOK_LO_OUT, if_nametoindex("lo"));
        trace_tell(story->trace, "program", "lo-out: %s is an address of this node", address);
    } else {
        trace_tell(story->trace, "program",
                   "none: the route to %s leads to no program of service NAT", address);
    }
}

int story_find_program(struct story *story)
{
    static const enum nat_hook hooks[] = { NAT_HOOK_UPLINK_IN, NAT_HOOK_POD_IN };

    for (size_t i = 0; story->ifindex && i < ARRAY_SIZE(hooks); i++) {
        if (!find_attachment(story->tracer, story->ifindex, hooks[i]))
            continue;
        see(story, hooks[i], story->ifindex);
        trace_tell(story->trace, "program", "%s: %s of %s", story->trace->hook,
                   hooks[i] == NAT_HOOK_POD_IN ? "what the pod sends" : "ingress",
                   story->trace->in);
        return 0;
    }
    int r = story->ifindex ? story_route(story) : route_from_host(story);
    if (r == 0 && !story->tracer->datapath)
        trace_tell(story->trace, "program", "none: service NAT is off");
    else if (r == 0)
        see_by_route(story);
    return r;
}

int story_go_behind(struct story *story, const struct nat_endpoint *to)
{
    const struct trace_next *next = story->tracer->next;
    struct trace_question question = *story->question;

    if (!next || story->ifindex == 0)
        return 0;
    question.source_port = story->probe.source_port;
    if (to) {
        question.destination = to->ip;
        question.destination_port = to->port;
    }
    return next->follow(next->context, &question, story->ifindex, story->trace);
}
