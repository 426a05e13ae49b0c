/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects known now, by key, with the indexes that planners need, and what has changed since
 * they last looked.
 *
 * Sources put objects in and take them out; each names itself as the origin (a manifest's file
 * name, "api"). Two origins may hold the same key: the origin first in byte order counts, the
 * other is kept and takes over when the first goes. `const struct store *` is the read-only
 * snapshot that planners borrow for one pass: nothing in it changes while they run. Every object
 * and array that is handed out stays valid until the next store_put() or store_remove().
 *
 * Nothing of the store outlives the process but what copy.h writes to disk.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/net/ip.h"
#include "base/vec.h"
#include "model/node.h"
#include "model/object.h"
#include "model/pod.h"
#include "model/services/endpoint_slice.h"
#include "model/services/service.h"

struct store;

struct store *store_new(void); /* NULL: no memory, or no random numbers */
void store_free(struct store *store);
DEFINE_CLEANUP(struct store *, store_free);

/*
 * Puts an object in. The store owns it from now on, even on failure. Returns 1 if what counts for
 * its key has changed, 0 if not (equal content, or another origin counts), -ENOMEM.
 */
int store_put(struct store *store, const char *origin, struct object *object);

/*
 * Takes an origin's object out. Returns 1 if what counts has changed, 0 if not, -ENOMEM (only where
 * another origin's object has to take over).
 *
 * A put or remove that fails has changed nothing.
 */
int store_remove(struct store *store, const char *origin, enum kind kind, const char *namespace,
                 const char *name);

/* The objects of a kind that count, in an order that means nothing; NULL at the end. `*cursor` is 0
 * at first. Nothing may be put in or taken out meanwhile. */
const struct object *store_next(const struct store *store, enum kind kind, size_t *cursor);

/* What counts for a key, or NULL. */
const struct object *store_get(const struct store *store, enum kind kind, const char *namespace,
                               const char *name);

/* The origin of an object that counts; NULL: it does not. Borrowed likewise. */
const char *store_origin(const struct store *store, const struct object *object);

size_t store_count(const struct store *store, enum kind kind);

/* Rises whenever what counts for a key changes. */
uint64_t store_version(const struct store *store);

typedef VEC(const struct object *) object_list;

/* All objects of a kind in order of namespace and name; the caller ends with vec_done(). */
int store_list(const struct store *store, enum kind kind, object_list *ret_list);

/*
 * The services that carry an address in any of their fields, in order of precedence
 * (object_precedence_cmp); the slices of a service, in order of name. Borrowed; `*ret_count` may
 * be 0 and the result then NULL.
 */
const struct service *const *store_services_at(const struct store *store, const struct ip *ip,
                                               size_t *ret_count);
const struct endpoint_slice *const *store_slices_of(const struct store *store,
                                                    const char *namespace, const char *service,
                                                    size_t *ret_count);
/*
 * The same, with the number of slices that stand behind these and are left out: those made of
 * Endpoints (SLICE_ENDPOINTS), where the Service has others.
 */
const struct endpoint_slice *const *store_slices_among(const struct store *store,
                                                       const char *namespace, const char *service,
                                                       size_t *ret_count, size_t *ret_left_out);
size_t store_endpoints_count(const struct store *store); /* slices made of Endpoints */

/*
 * The services that have this node port, whether or not their type makes use of it; ordered and
 * borrowed likewise.
 */
const struct service *const *store_services_on(const struct store *store, enum protocol protocol,
                                               uint16_t node_port, size_t *ret_count);

/* The Node whose object lists the address, the first by name; NULL: none. Borrowed. */
const struct node *store_node_at(const struct store *store, const struct ip *ip);

/*
 * The pods that have an address as their own, older ones first (object_precedence_cmp); the pods
 * with addresses of their own whose annotation names an Egress, in order of key. Borrowed likewise.
 */
const struct pod *const *store_pods_at(const struct store *store, const struct ip *ip,
                                       size_t *ret_count);
const struct pod *const *store_pods_of(const struct store *store, const char *egress_namespace,
                                       const char *egress_name, size_t *ret_count);

/* Every address that some service carries, sorted, without duplicates. */
int store_addresses(const struct store *store, ip_list *ret_list);

/* What changed: before NULL = new, after NULL = gone. At most one per key, in order of key. */
struct change {
    const struct object *before, *after;
};

typedef VEC(struct change) change_list;

/*
 * The changes since the last store_changes_done(): keys whose content differs from what it was
 * then. Nothing may be put in or taken out between taking the changes and store_changes_done(),
 * which forgets them and frees what only `before` kept. Returns 0 or -ENOMEM.
 *
 * After a failure, here or in what is made of the changes, two ways are safe. The caller leaves out
 * store_changes_done(), and gets the same changes again, together with what has come since. Or it
 * forgets them all the same, and its next look goes over everything by store_list() and
 * store_addresses(): what counts is in the store with or without its change. The daemon takes the
 * second way, since a failed pass may have done a part of its work.
 */
int store_changes(struct store *store, change_list *ret_list);
void store_changes_done(struct store *store);

/* Adds a fault for each key that more than one origin holds, saying which one counts. */
void store_conflicts(const struct store *store, struct faults *faults);
