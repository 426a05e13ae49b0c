/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the Kubernetes source, by kind. Part of struct status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KUBE_KINDS_MAX = 24, KUBE_VERSION_MAX = 32 };

enum kube_kind_state {
    KUBE_LISTING,
    KUBE_WATCHING,
    KUBE_WAITING, /* for the next attempt after a failure */
    KUBE_ABSENT,  /* the API does not serve this kind; it is queried again later */
};

/* "watching": part of the API. */
const char *kube_kind_state_name(enum kube_kind_state state);

struct kube_kind_status {
    const char *kind; /* "EndpointSlice"; static */
    enum kube_kind_state state;
    bool synced;                             /* was listed completely, or is absent */
    char resource_version[KUBE_VERSION_MAX]; /* position of the watch; "" before the first list */
    uint64_t lists;                          /* completed lists */
    uint64_t reconnects;                     /* watches after the first one */
    int64_t last_event_wall_ms;              /* the last message in a list or watch; 0: none */
    char error[256];                         /* why the last attempt failed; "" if it did not */
    int64_t error_wall_ms;                   /* since when it has failed */
    int64_t back_mono_ms; /* last detection of a restore of etcd from a backup; 0: never */
};

struct kube_status {
    struct kube_kind_status kinds[KUBE_KINDS_MAX];
    size_t count; /* 0: another source is configured */
};

/* Whether the API does not serve this kind ("IPAddressPool"), by its last response. */
bool kube_status_is_absent(const struct kube_status *status, const char *kind);

/*
 * Whether a restore of etcd from a backup was detected in the last minute, by requests for this
 * kind: an object that is missing after it was not deleted.
 */
bool kube_status_went_back(const struct kube_status *status, const char *kind, int64_t now_ms);

/* The remedy for a missing CustomResourceDefinition; argument: the file that has it. */
#define KUBE_DEFINITIONS_REMEDY "apply the definitions: kubectl apply -f deploy/kubernetes/"
