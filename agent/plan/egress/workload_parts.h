/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of workload.h's planner. */
#pragma once

#include "base/vec.h"
#include "format/json.h"
#include "plan/egress/workload.h"

/* ---- workload_pod.c ---- */

/* The error of a template, static; NULL: none. */
const char *workload_template_check(const struct doc *pod_template);

/* ---- workload_rights.c ---- */

/*
 * All that a template requests and `allowed` (bits by enum template_right) does not have, and the
 * remedy: in the texts of the plan. False: nothing.
 */
bool workload_template_excess(const struct doc *pod_template, uint32_t allowed,
                              struct workload_plan *plan);

/* ---- workload_pod.c ---- */

/* The member "template" of a Deployment's spec. `pod_template` may be NULL. */
void workload_pod_write(struct json *json, const struct egress *egress,
                        const struct doc *pod_template, const char *image);

/* ---- workload_document.c ---- */

/*
 * Begins an object up to its metadata, which stays open; with preconditions if the object exists.
 */
void workload_begin(struct json *json, const struct workload_key *key, const struct object *there);

/* Members of an object of labels: those that select an Egress's pods. */
void workload_labels_write(struct json *json, const struct egress *egress);

/* A complete Deployment, Service or PodDisruptionBudget. */
void workload_write(const struct workload_key *key, const struct egress *egress,
                    const struct doc *pod_template, const char *image, const struct object *there,
                    struct text *out);

/* ---- workload_access.c ---- */

typedef VEC(const char *) workload_names;

/* Whether a namespace needs the gateways' ServiceAccount. */
bool workload_needs_account(const struct store *store, const char *namespace);
/* The namespaces that do, sorted. Returns 0 or -ENOMEM. */
int workload_namespaces(const struct store *store, workload_names *ret_names);

/* A ServiceAccount, or the ClusterRoleBinding with these namespaces' accounts. */
void workload_access_write(const struct workload_key *key, const workload_names *namespaces,
                           const struct object *there, struct text *out);
