// SPDX-License-Identifier: Apache-2.0
/*
 * Plans Events for the owners of Services; called by the events engine, and written by agentd.
 *
 * The checks are those of the route and NAT planners, by the same functions (claim.h), so that an
 * Event never contradicts `agentctl explain`. Faults that the owner can't fix (no endpoints here, a
 * drained node) are no Event.
 *
 * The id is a keyed hash over the Service's uid and the words of the cause. The key is a constant:
 * it must be the same on all nodes, and a user who can choose the text of a cause could also write
 * the Event.
 */
#include "plan/nat/service_event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/siphash.h"
#include "plan/routes/claim.h"

enum { EVENTS_OF_ADDRESS_MAX = 32 };

static const uint8_t id_key[16] = "fingerpostevents";

static const char *const reasons[] = {
    [EVENT_EXTERNAL_IP_OUTSIDE] = "ExternalIPRefused",
    [EVENT_EXTERNAL_IP_CLUSTER] = "ExternalIPRefused",
    [EVENT_PORT_TAKEN] = "PortTaken",
    [EVENT_HEALTH_PORT] = "HealthCheckPortFailed",
};

void service_events_done(service_event_list *list)
{
    vec_each(struct service_event *, event, list)
        free(*event);
    vec_done(list);
}

int service_event_cmp(const void *a, const void *b)
{
    const struct service_event *const *left = a, *const *right = b;
    int r = ip_cmp(&(*left)->ip, &(*right)->ip);
    return r ? r : CMP((*left)->id, (*right)->id);
}

/* Copies a string to `*at`, and advances `*at` past it. */
static const char *put(char **at, const char *string)
{
    char *begin = *at;
    size_t size = strlen(string) + 1;
    memcpy(begin, string, size);
    *at += size;
    return begin;
}

static int id_of(const struct service_event *event, uint64_t *ret_id)
{
    AUTOTEXT struct text words = { 0 };
    char address[IP_STRLEN];
    text_addf(&words, "%s\n%s\n%u\n%s\n%u\n%s\n%s", event->uid, reasons[event->cause], event->cause,
              event->ip.family == IP_NONE ? "" : ip_str(&event->ip, address), event->port,
              event->protocol, event->owner);
    if (text_error(&words) < 0)
        return -ENOMEM;
    *ret_id = siphash(words.data, words.length, id_key);
    return 0;
}

/* The event with copies of its strings. */
static int event_new(const struct service_event *draft, struct service_event **ret_event)
{
    size_t size = sizeof(*draft) + strlen(draft->namespace) + strlen(draft->service) +
                  strlen(draft->uid) + strlen(draft->owner) + 4;
    AUTOFREE struct service_event *event = malloc(size);
    if (!event)
        return -ENOMEM;
    char *at = (char *)(event + 1);
    *event = *draft;
    event->namespace = put(&at, draft->namespace);
    event->service = put(&at, draft->service);
    event->uid = put(&at, draft->uid);
    event->owner = put(&at, draft->owner);
    int r = id_of(event, &event->id);
    if (r < 0)
        return r;
    *ret_event = TAKE_PTR(event);
    return 0;
}

int service_event_copy(const struct service_event *event, struct service_event **ret_copy)
{
    return event_new(event, ret_copy);
}

static struct service_event draft_of(const struct service *service, enum service_event_cause cause)
{
    return (struct service_event){
        .cause = cause,
        .protocol = "",
        .namespace = service->object.namespace,
        .service = service->object.name,
        .uid = service->object.uid,
        .owner = "",
    };
}

static int add(const struct service_event *draft, service_event_list *list)
{
    struct service_event *event = NULL;
    int r = event_new(draft, &event);
    if (r < 0)
        return r;
    r = vec_push(list, event);
    if (r < 0)
        free(event);
    return r;
}

static int add_refused(const struct candidate *candidate, enum service_event_cause cause,
                       service_event_list *list)
{
    struct service_event draft = draft_of(candidate->service, cause);
    draft.ip = candidate->address->ip;
    return add(&draft, list);
}

static int add_taken(const struct candidate *candidate, const struct service_port *port,
                     const struct service *owner, service_event_list *list)
{
    struct service_event draft = draft_of(candidate->service, EVENT_PORT_TAKEN);
    AUTOFREE char *name = text_format("%s/%s", owner->object.namespace, owner->object.name);
    if (!name)
        return -ENOMEM;
    draft.ip = candidate->address->ip;
    draft.port = port->port;
    draft.protocol = protocol_name(port->protocol);
    draft.owner = name;
    return add(&draft, list);
}

static int add_taken_ports(const candidate_list *candidates, const struct candidate *candidate,
                           size_t most, service_event_list *list)
{
    const struct service *service = candidate->service;
    for (uint32_t i = 0; i < service->port_count && list->count < most; i++) {
        const struct service_port *port = &service->ports[i];
        const struct service *owner =
            claim_port_owner(candidates, candidate, port->protocol, port->port);
        int r = owner ? add_taken(candidate, port, owner, list) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_of_candidate(const struct node_facts *facts, const candidate_list *candidates,
                            const struct candidate *candidate, size_t most,
                            service_event_list *list)
{
    bool external = candidate->address->origin == ADDRESS_EXTERNAL;
    if (!*candidate->service->object.uid)
        return 0;
    if (external && candidate->reason == REASON_IN_SERVICE_CIDR)
        return add_refused(candidate, EVENT_EXTERNAL_IP_CLUSTER, list);
    /* With NAT off, another proxy may serve the address: then it is only not announced. */
    if (external && candidate->reason == REASON_OUTSIDE_RANGES && facts->config->services.enabled)
        return add_refused(candidate, EVENT_EXTERNAL_IP_OUTSIDE, list);
    if (candidate->reason < REASON_PORTS_TAKEN)
        return 0;
    return add_taken_ports(candidates, candidate, most, list);
}

int plan_service_events(const struct node_facts *facts, const struct ip *ip,
                        service_event_list *list)
{
    AUTOVEC candidate_list candidates = { 0 };
    size_t most = list->count + EVENTS_OF_ADDRESS_MAX;
    int r = claim_candidates(facts, ip, &candidates);
    if (r < 0)
        return r;
    vec_each(const struct candidate, candidate, &candidates) {
        if (list->count >= most)
            break;
        r = add_of_candidate(facts, &candidates, candidate, most, list);
        if (r < 0)
            return r;
    }
    return 0;
}

int plan_health_event(const struct service *service, uint16_t port,
                      struct service_event **ret_event)
{
    struct service_event draft = draft_of(service, EVENT_HEALTH_PORT);
    draft.port = port;
    draft.protocol = "TCP";
    return event_new(&draft, ret_event);
}

const char *service_event_name(const struct service_event *event,
                               char buffer[static SERVICE_EVENT_NAME_MAX])
{
    (void)snprintf(buffer, SERVICE_EVENT_NAME_MAX, "%.200s.%016" PRIx64, event->service, event->id);
    return buffer;
}

const char *service_event_reason(const struct service_event *event)
{
    return reasons[event->cause];
}

void service_event_note(const struct service_event *event, const char *node, struct text *out)
{
    char address[IP_STRLEN] = "";
    if (event->ip.family != IP_NONE)
        (void)ip_str(&event->ip, address);
    switch (event->cause) {
    case EVENT_EXTERNAL_IP_OUTSIDE:
        text_addf(out,
                  "external IP %s is not served: it is outside services.externalIPs; choose "
                  "another, or have the range allowed on the nodes",
                  address);
        break;
    case EVENT_EXTERNAL_IP_CLUSTER:
        text_addf(out,
                  "external IP %s is refused: it is a ClusterIP or lies in a network of "
                  "ClusterIPs; choose another",
                  address);
        break;
    case EVENT_PORT_TAKEN:
        text_addf(out,
                  "%s port %u/%s belongs to the older Service %s; give one of the two another "
                  "port or address",
                  address, event->port, event->protocol, event->owner);
        break;
    case EVENT_HEALTH_PORT:
        text_addf(out,
                  "node %s can't serve healthCheckNodePort %u: free the port there, or give the "
                  "Service another",
                  node, event->port);
        break;
    }
}
