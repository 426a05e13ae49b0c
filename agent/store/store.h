/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The current objects by key, with the indexes that planners need, and the changes since the last
 * pass.
 *
 * Sources add and remove objects, and name their origin (a manifest's file name, "api"). Several
 * origins may have an object of the same key: the object of the origin first in byte order is
 * effective ("counts"); the others are kept, and the next one becomes effective when the first is
 * removed. `const struct store *` is the read-only snapshot that planners borrow for one pass:
 * nothing in it changes while they run. Every object and array that is returned stays valid until
 * the next store_put() or store_remove().
 *
 * Nothing of the store outlives the process, except the copy on disk (copy.h).
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
 * Adds or replaces an object. The store takes ownership, even on failure. Returns 1 if the
 * effective object of the key has changed, 0 if not (equal content, or another origin's object is
 * effective), -ENOMEM.
 */
int store_put(struct store *store, const char *origin, struct object *object);

/*
 * Removes an origin's object. Returns 1 if the effective object has changed, 0 if not, -ENOMEM
 * (only where another origin's object becomes effective).
 *
 * A put or remove that fails leaves the store unchanged.
 */
int store_remove(struct store *store, const char *origin, enum kind kind, const char *namespace,
                 const char *name);

/*
 * The effective objects of a kind, in no particular order; NULL at the end. `*cursor` is 0 at
 * first. The store must not change during the iteration.
 */
const struct object *store_next(const struct store *store, enum kind kind, size_t *cursor);

/* The effective object of a key, or NULL. */
const struct object *store_get(const struct store *store, enum kind kind, const char *namespace,
                               const char *name);

/* The origin of an object; NULL: the object is not the effective one. Borrowed likewise. */
const char *store_origin(const struct store *store, const struct object *object);

size_t store_count(const struct store *store, enum kind kind);

/* Incremented whenever the effective object of a key changes. */
uint64_t store_version(const struct store *store);

typedef VEC(const struct object *) object_list;

/* All objects of a kind in order of namespace and name; the caller frees it with vec_done(). */
int store_list(const struct store *store, enum kind kind, object_list *ret_list);

/*
 * The services that have an address in any of their fields, in order of precedence
 * (object_precedence_cmp); the slices of a service, in order of name. Borrowed; `*ret_count` may be
 * 0 and the result then NULL.
 */
const struct service *const *store_services_at(const struct store *store, const struct ip *ip,
                                               size_t *ret_count);
const struct endpoint_slice *const *store_slices_of(const struct store *store,
                                                    const char *namespace, const char *service,
                                                    size_t *ret_count);
/*
 * The same, with the number of slices that follow in the array and are left out: those made from
 * Endpoints (SLICE_ENDPOINTS), where the Service has others.
 */
const struct endpoint_slice *const *store_slices_among(const struct store *store,
                                                       const char *namespace, const char *service,
                                                       size_t *ret_count, size_t *ret_left_out);
size_t store_endpoints_count(const struct store *store); /* slices made from Endpoints */

/*
 * The services that have this node port, whether or not their type uses it; ordered and borrowed
 * likewise.
 */
const struct service *const *store_services_on(const struct store *store, enum protocol protocol,
                                               uint16_t node_port, size_t *ret_count);

/* The first Node by name whose object lists the address; NULL: none. Borrowed. */
const struct node *store_node_at(const struct store *store, const struct ip *ip);

/*
 * The pods that have an address as their own (not the host's), older ones first
 * (object_precedence_cmp); the pods with addresses of their own whose annotation names an Egress,
 * in order of key. Borrowed likewise.
 */
const struct pod *const *store_pods_at(const struct store *store, const struct ip *ip,
                                       size_t *ret_count);
const struct pod *const *store_pods_of(const struct store *store, const char *egress_namespace,
                                       const char *egress_name, size_t *ret_count);

/* Every address that some Service has, sorted, without duplicates. */
int store_addresses(const struct store *store, ip_list *ret_list);

/* A change: `before` NULL: new; `after` NULL: deleted. At most one per key, in order of key. */
struct change {
    const struct object *before, *after;
};

typedef VEC(struct change) change_list;

/*
 * The changes since the last store_changes_done(): keys whose content differs from that time. The
 * store must not change between store_changes() and store_changes_done(), which clears the changes
 * and frees objects that only `before` held. Returns 0 or -ENOMEM.
 *
 * After a failure, here or in the processing of the changes, the caller has two options. It omits
 * store_changes_done(), and gets the same changes again, with later ones. Or it clears the changes,
 * and its next pass goes over everything by store_list() and store_addresses(). The daemon does the
 * latter, since a failed pass may have done a part of its work.
 */
int store_changes(struct store *store, change_list *ret_list);
void store_changes_done(struct store *store);

/* Adds a fault for each key that more than one origin has; the fault names the effective one. */
void store_conflicts(const struct store *store, struct faults *faults);
