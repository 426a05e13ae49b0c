/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents for load balancers outside the cluster, as values: documents under keys, and the
 * refused Services. Made by export.h, compared by export_diff.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/fault.h"
#include "base/text.h"
#include "base/vec.h"
#include "config/export_config.h"
#include "model/services/service.h"
#include "store/store.h"

enum {
    EXPORT_KEY_MAX = 1024,         /* bytes */
    EXPORT_VALUE_MAX = 256 * 1024, /* bytes: Consul takes 512 KiB, but as base64 in a transaction */
};

/* Its strings belong to the plan. */
struct export_document {
    const char *key;
    const char *value; /* JSON */
    const char *id;    /* "" for the list of nodes */
    const char *owner; /* "namespace/name" of the Service; "" for the list of nodes */
    /*
     * The Service with the NodePort: the Service itself, or its ingress. NULL for the list of
     * nodes. Borrowed from the store, valid until it changes.
     */
    const struct service *server;
    const struct service_port *port;
};

/* A Service that requests the export and is refused: its documents in KV stay. */
struct export_refusal {
    const char *namespace, *name, *uid;
    const char *owner; /* "namespace/name" */
    const char *message, *remedy;
};

struct export_plan {
    struct arena *arena;
    VEC(struct export_document) documents; /* in order of key */
    VEC(struct export_refusal) refusals;   /* in order of owner */
    size_t services;                       /* that are exported */
    size_t nodes;                          /* in the list */
    VEC(const char *) node_names;          /* of these */
    const char *selector;                  /* that selected them; "": all nodes */
    bool endpoints;                        /* some document has endpoints */
    int64_t until_wall_ms;                 /* when a node stops to count as ready; 0: none */
};

void export_plan_done(struct export_plan *plan);

/* Whether a change of this kind of object can change the plan. */
bool export_plan_depends_on(const struct export_plan *plan, enum kind kind);

/* "PREFIX/nodes/CLUSTER". Returns 0 or -ENOMEM. */
int export_nodes_key(const struct export_config *config, struct text *out);
