// SPDX-License-Identifier: Apache-2.0
/*
 * The first half of a trace: where a packet enters the node, and which program sees it.
 *
 * The kernel's route to the packet's source tells where it enters: a reply would leave there. If
 * that interface carries a program, this program sees the packet first. The node's own packets, and
 * those that enter by another interface, are seen where the kernel's route to their destination
 * leads: at svc0, or at lo.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "engine/nat/story.h"

void story_tell(struct story *story, const char *title, const char *format, ...)
{
    AUTOTEXT struct text text = { 0 };
    struct trace_step step = { .title = title };
    va_list args;

    va_start(args, format);
    text_vaddf(&text, format, args);
    va_end(args);
    step.text = text_take(&text);
    if (step.text && vec_push(&story->trace->steps, step) == 0)
        return;
    free(step.text);
    story->failed = true;
}

/* ---- where it comes in ---- */

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
        story_tell(story, "in", "host: made on this node, as asked");
        return 0;
    }
    uint32_t ifindex = if_nametoindex(in);
    if (ifindex == 0)
        return -ENODEV;
    come_from(story, ifindex);
    story_tell(story, "in", "%s, as asked", in);
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
        story_tell(story, "in", "host: %s is an address of this node", address);
        return 0;
    }
    if (found.type == RTN_UNICAST && find_attachment(tracer, found.ifindex, NAT_HOOK_POD_IN)) {
        come_from(story, found.ifindex);
        story_tell(story, "in", "%s: a pod's interface, to which the route to %s leads",
                   story->trace->in, address);
        return 0;
    }
    const struct nat_attachment *uplink = find_attachment(tracer, 0, NAT_HOOK_UPLINK_IN);
    if (!uplink)
        return -EADDRNOTAVAIL;
    come_from(story, uplink->ifindex);
    story_tell(story, "in", "%s: the first uplink, since %s is neither this node nor a pod on it",
               uplink->name, address);
    return 0;
}

int story_enter(struct story *story)
{
    const char *in = story->question->in;
    return in ? come_as_told(story, in) : come_by_source(story);
}

/* ---- which program sees it ---- */

/* The kernel takes no source that is not the node's own (a served address): it is left out. */
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
        story_tell(story, "program", "svc-out: the route to %s leads to svc0", address);
    } else if (story->route.type == RTN_LOCAL && story->ifindex == 0) {
        see(story, NAT_HOOK_LO_OUT, if_nametoindex("lo"));
        story_tell(story, "program", "lo-out: %s is an address of this node", address);
    } else {
        story_tell(story, "program", "none: the route to %s leads to no program of service NAT",
                   address);
    }
}

int story_find_program(struct story *story)
{
    static const enum nat_hook hooks[] = { NAT_HOOK_UPLINK_IN, NAT_HOOK_POD_IN };

    for (size_t i = 0; story->ifindex && i < ARRAY_SIZE(hooks); i++) {
        if (!find_attachment(story->tracer, story->ifindex, hooks[i]))
            continue;
        see(story, hooks[i], story->ifindex);
        story_tell(story, "program", "%s: %s of %s", story->trace->hook,
                   hooks[i] == NAT_HOOK_POD_IN ? "what the pod sends" : "ingress",
                   story->trace->in);
        return 0;
    }
    int r = story->ifindex ? story_route(story) : route_from_host(story);
    if (r == 0)
        see_by_route(story);
    return r;
}
