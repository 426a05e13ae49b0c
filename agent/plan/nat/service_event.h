/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the owner of a Service can mend, and is therefore told by a Kubernetes Event; pure.
 *
 * Every node that sees the same cause plans the same Event under the same name, so that the cluster
 * has it once. A cause that changes (another port, another owner of it) has another name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/text.h"
#include "base/vec.h"
#include "plan/facts.h"

enum service_event_cause {
    EVENT_EXTERNAL_IP_OUTSIDE, /* an external IP outside services.externalIPs; with NAT on */
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
    const char *namespace, *service, *uid; /* who is told */
    const char *owner;                     /* EVENT_PORT_TAKEN: "namespace/name", else "" */
};

typedef VEC(struct service_event *) service_event_list;

void service_events_done(service_event_list *list);
#define AUTOEVENTS CLEANUP(service_events_done)

/*
 * Adds those of one address, of all Services that name it. Services without a uid have none: they
 * are in no API. Returns 0 or -ENOMEM.
 */
int plan_service_events(const struct node_facts *facts, const struct ip *ip,
                        service_event_list *list);

/* That of a health port, which a node can't serve. Returns 0 or -ENOMEM. */
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

/* Adds what is wrong, and what to do about it, for the Service's owner. `node`: who says so. */
void service_event_note(const struct service_event *event, const char *node, struct text *out);
