/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that the owner of a Service can fix, and that are reported by a Kubernetes Event; pure.
 *
 * Every node that sees the same cause plans the same Event under the same name, so that the cluster
 * has one Event. A changed cause (another port, another owner of it) has another name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/text.h"
#include "base/vec.h"
#include "plan/facts.h"

enum service_event_cause {
    EVENT_EXTERNAL_IP_OUTSIDE, /* an external IP outside services.externalIPs; only with NAT on */
    EVENT_EXTERNAL_IP_CLUSTER, /* one that is a ClusterIP, or could become one */
    EVENT_PORT_TAKEN,          /* a port of an address that an older Service has */
    EVENT_HEALTH_PORT,         /* a health port that a node can't serve */
};

enum { SERVICE_EVENT_NAME_MAX = 254 };

/* One allocation with its strings: free() it. */
struct service_event {
    uint64_t id;  /* of the cause: the same on every node */
    struct ip ip; /* of which address; IP_NONE: EVENT_HEALTH_PORT */
    enum service_event_cause cause;
    uint16_t port;                         /* 0: of none */
    const char *protocol;                  /* "TCP"; "" with no port */
    const char *namespace, *service, *uid; /* the Service's, for the Event */
    const char *owner;                     /* EVENT_PORT_TAKEN: "namespace/name", else "" */
};

typedef VEC(struct service_event *) service_event_list;

void service_events_done(service_event_list *list);
#define AUTOEVENTS CLEANUP(service_events_done)

/*
 * Adds the Events of one address, for all Services that name it. Services without a uid have none,
 * since they are not in an API. Returns 0 or -ENOMEM.
 */
int plan_service_events(const struct node_facts *facts, const struct ip *ip,
                        service_event_list *list);

/* The Event of a health port that a node can't serve. Returns 0 or -ENOMEM. */
int plan_health_event(const struct service *service, uint16_t port,
                      struct service_event **ret_event);

int service_event_copy(const struct service_event *event, struct service_event **ret_copy);

/* Order by address, then id. */
int service_event_cmp(const void *a, const void *b); /* of struct service_event * */

/* "web.0123456789abcdef". Returns `buffer`. */
const char *service_event_name(const struct service_event *event,
                               char buffer[static SERVICE_EVENT_NAME_MAX]);

/* "ExternalIPRefused": static. */
const char *service_event_reason(const struct service_event *event);

/* Adds the message and the remedy for the Service's owner. `node`: the reporting node. */
void service_event_note(const struct service_event *event, const char *node, struct text *out);
