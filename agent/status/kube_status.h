/* SPDX-License-Identifier: Apache-2.0 */
/* What the Kubernetes source knows of itself, kind by kind. Part of struct status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KUBE_KINDS_MAX = 24, KUBE_VERSION_MAX = 32 };

enum kube_kind_state {
    KUBE_LISTING,
    KUBE_WATCHING,
    KUBE_WAITING, /* to try again after a failure */
    KUBE_ABSENT,  /* the API does not serve this kind, and is asked again later */
};

/* "watching": part of the API. */
const char *kube_kind_state_name(enum kube_kind_state state);

struct kube_kind_status {
    const char *kind; /* "EndpointSlice"; static */
    enum kube_kind_state state;
    bool synced;                             /* was listed whole, or is absent */
    char resource_version[KUBE_VERSION_MAX]; /* where the watch stands; "" before the first list */
    uint64_t lists;                          /* that came to their end */
    uint64_t reconnects;                     /* watches after the first one */
    int64_t last_event_wall_ms;              /* the last word in a list or watch; 0: none */
    char error[256];                         /* why the last attempt failed; "" if it did not */
    int64_t error_wall_ms;                   /* since when it has failed */
    int64_t back_mono_ms; /* when it was last seen that etcd was restored from a backup; 0: never */
};

struct kube_status {
    struct kube_kind_status kinds[KUBE_KINDS_MAX];
    size_t count; /* 0: the source is another */
};

/* Whether the API said last that it has no such kind ("IPAddressPool"). */
bool kube_status_is_absent(const struct kube_status *status, const char *kind);

/* Whether etcd was restored from a backup in the last minute, as far as this kind was asked for:
 * what is gone by that is no deletion. */
bool kube_status_went_back(const struct kube_status *status, const char *kind, int64_t now_ms);

/* What to do where a definition is missing; of the file that has it. */
#define KUBE_DEFINITIONS_REMEDY "apply the definitions: kubectl apply -f deploy/kubernetes/"
