/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes API as the source of objects.
 *
 * Each kind is listed, in pages, and then watched from the resourceVersion of the list. A watch
 * that ends is resumed there; if that is not possible (410), the kind is listed again and compared
 * with the known objects: only a complete list removes the objects that are not in it. A kind that
 * the API does not serve (no such CRD) is off, and retried once a minute. An object that can't be
 * parsed is a fault, and its last good version stays in force.
 *
 * While the API is unreachable, everything known stays. The first list is compared with what a copy
 * on disk has put into the store before the start, with the same origin.
 */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "client/kube/kubeconfig.h"
#include "source/kube_resource.h"
#include "status/status.h"
#include "store/store.h"

/* The origin of its objects in the store. */
#define KUBE_ORIGIN "api"

struct kube_source;

struct kube_source_options {
    struct kube_config *config;             /* ownership is taken */
    const struct kube_resources *resources; /* which kinds; must outlive the source */
    const char *node;                       /* whose pods and blocks are selected; copied */
    const char *proxy_name;         /* our value of service.kubernetes.io/service-proxy-name, beside
                                       Services without that label; "": none; copied */
    bool all_pods;                  /* pods of every node, not only of this one */
    bool needed[KIND_COUNT];        /* required kinds: a missing CRD is a fault */
    struct store *store;            /* receives the objects */
    struct source_status *status;   /* kept up to date, `kube` included */
    struct fault_book *faults;      /* subsystem "kubernetes", group = kind, "" for the API */
    void (*changed)(void *context); /* the store or the status changed: a pass is due. Called only
                                       from the loop */
    void *context;
};

/*
 * Begins to list. `status->synced` becomes true when every kind that the API serves was listed
 * once. Returns 0 or -errno.
 */
int kube_source_start(sd_event *event, const struct kube_source_options *options,
                      struct kube_source **ret_source);

struct kube_timing;

/* The same with other times than kube_timing_default, which must outlive the source; for tests. */
int kube_source_start_timed(sd_event *event, const struct kube_source_options *options,
                            const struct kube_timing *timing, struct kube_source **ret_source);

/*
 * As manifest_source_loaded_generation(): the generation up to which everything received is in the
 * store.
 */
uint64_t kube_source_loaded_generation(const struct kube_source *source);

void kube_source_free(struct kube_source *source);
DEFINE_CLEANUP(struct kube_source *, kube_source_free);
