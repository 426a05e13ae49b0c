/* SPDX-License-Identifier: Apache-2.0 */
/* A Kubernetes source in an event loop of its own, with a scripted API in front of it. */
#pragma once

#include <stdbool.h>

#include "fake_api.h"
#include "run_until.h"
#include "source/kube.h"
#include "source/reflector.h"
#include "store/store.h"

struct fixture {
    sd_event *event;
    struct fake_api api;
    struct store *store;
    struct fault_book *faults;
    struct source_status status;
    struct kube_timing timing;
    struct kube_source *source;
    unsigned calls;   /* of `changed` */
    bool insecure;    /* the kubeconfig says insecure-skip-tls-verify */
    enum kind needed; /* a kind that cannot be missed; KIND_COUNT: none */

    /* What the API has: the answer to a list, by kind; NULL: 404. The caller's. */
    const char *lists[KIND_COUNT];
    const char *check;                     /* the answer about the own Node */
    struct fake_peer *watches[KIND_COUNT]; /* open ones */
    unsigned listed[KIND_COUNT], watched[KIND_COUNT], checked;
    /* Asked first; true: it has answered. */
    bool (*hook)(struct fixture *fx, struct fake_peer *peer, enum kind kind);
    unsigned hooked; /* for the hook's own use */
};

/* An empty list of each of the core's kinds, and short times to retry. */
int kube_setup_fixture(void **state);
int kube_teardown_fixture(void **state);

void start_source(struct fixture *fx);
void start_source_for(struct fixture *fx, const char *proxy_name, bool all_pods);

/* Starts, and waits until all is listed and watched. */
void start_and_sync(struct fixture *fx);

const struct kube_kind_status *kind_status(const struct fixture *fx, enum kind kind);

/* Says an event of an open watch. */
void say_event(struct fixture *fx, enum kind kind, const char *type, const char *object);

/* True if the service is in the store with this clusterIP. */
bool has_service(const struct fixture *fx, const char *name, const char *ip);

/* The fault of a group with this place and message; NULL: there is none. */
const struct known_fault *find_fault(const struct fixture *fx, const char *group, const char *place,
                                     const char *message);
bool has_group(const struct fixture *fx, const char *group);

/* In the order of the API's own kinds. */
#define KIND_LIST(kind, version, items)                                       \
    "{\"kind\":\"" kind "List\",\"metadata\":{\"resourceVersion\":\"" version \
    "\"},\"items\":[" items "]}"
#define LIST_OF(version, items) KIND_LIST("Service", version, items)
#define SERVICE(name, version, ip)                                                            \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"d\",\"resourceVersion\":\"" version \
    "\"},\"spec\":{\"clusterIP\":\"" ip "\",\"clusterIPs\":[\"" ip                            \
    "\"],\"ports\":[{\"port\":80}]}}"
