/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What load balancers outside the cluster are told: documents under keys, as kube-service-exporter
 * has them in Consul's KV. One for each port of an exported Service, and one list of nodes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/fault.h"
#include "base/text.h"
#include "base/vec.h"
#include "config/export_config.h"
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
};

/* A Service that asks to be exported, and isn't: what stands in KV of it stays there. */
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
    bool endpoints;                        /* some document speaks of endpoints */
    int64_t until_wall_ms; /* when a node stops to pretend that it is ready; 0: none does */
};

/*
 * The plan of everything. `faults` gets the refusals, and what is wrong without refusing a Service.
 * Returns 0 or -ENOMEM.
 */
int plan_export(const struct export_config *config, const struct store *store, int64_t now_wall_ms,
                struct export_plan *ret_plan, struct faults *faults);

void export_plan_done(struct export_plan *plan);

/* Whether a change of this kind of object can make another plan than this one. */
bool export_plan_depends_on(const struct export_plan *plan, enum kind kind);

/* Whether a text is a boolean of Go: "1", "t", "TRUE" and so on. */
bool export_parse_bool(const char *text, bool *ret_value);

/* "PREFIX/nodes/CLUSTER". Returns 0 or -ENOMEM. */
int export_nodes_key(const struct export_config *config, struct text *out);
