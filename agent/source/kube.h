/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes API as the source of objects.
 *
 * Each kind is listed, in pages, and then watched from where the list ended. A watch that ends is
 * resumed there; one that can't be (410) is followed by another list, which is compared with what
 * is known: only what a complete list does not name is taken out. A kind that the API does not
 * serve (no such CRD) is off, and looked for once a minute. What can't be read of an object is a
 * fault, and what was known of it before stays in force.
 *
 * While the API is away, everything known stays. What a copy on disk has put into the store before
 * the start, with the same origin, is what the first list is compared with.
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
    struct kube_config *config;             /* taken over, even on failure */
    const struct kube_resources *resources; /* which kinds; must outlive the source */
    const char *node;                       /* whose pods and blocks are asked for; copied */
    const char *proxy_name;         /* value of service.kubernetes.io/service-proxy-name that is
                                     * ours, beside Services without that label; "": none; copied */
    bool all_pods;                  /* of every node, not of this one alone */
    bool needed[KIND_COUNT];        /* what cannot be missed: that no CRD has it is a fault */
    struct store *store;            /* gets the objects */
    struct source_status *status;   /* kept up to date, `kube` included */
    struct fault_book *faults;      /* subsystem "kubernetes", group = kind, "" for the API */
    void (*changed)(void *context); /* the store or the status changed: a pass is due. Called from
                                     * the loop only */
    void *context;
};

/*
 * Starts to list. `status->synced` becomes true when every kind that the API serves was listed
 * once. Returns 0 or -errno.
 */
int kube_source_start(sd_event *event, const struct kube_source_options *options,
                      struct kube_source **ret_source);

struct kube_timing;

/* The same with other times than kube_timing_default, which must outlive the source; for tests. */
int kube_source_start_timed(sd_event *event, const struct kube_source_options *options,
                            const struct kube_timing *timing, struct kube_source **ret_source);

/* As manifest_source_loaded_generation(): the generation up to which all seen is in the store. */
uint64_t kube_source_loaded_generation(const struct kube_source *source);

void kube_source_free(struct kube_source *source);
DEFINE_CLEANUP(struct kube_source *, kube_source_free);
