/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods engine: which pod has which address of this node's blocks, and the routes to them. It is
 * a row of the table of engines.
 *
 * A pod's interface is made by agent-cni, which asks here what to make (pods_engine_want()) and
 * tells that it is made (pods_engine_wired()). The engine keeps the host's side: it finds the links
 * by their aliases, keeps a route to each address, gives a link its alias back, and tells of what
 * is wrong. What the kernel shows counts: a pod interface without a link is a promise, and ends by
 * itself.
 *
 * The functions below are for the rest of the agent; each takes the engine whose operations are
 * pods_engine_ops. With pods.enabled false nothing is known and everything is refused.
 */
#pragma once

#include "engine/engine.h"
#include "plan/pods/pod_attachment.h"
#include "plan/pods/pod_pools.h"

extern const struct engine_ops pods_engine_ops;

/* Gives addresses to a pod's interface, the same as before if it has some. */
enum pod_refusal pods_engine_want(struct engine *engine, const struct pod_request *request,
                                  struct pod_grant *ret_grant);

/* The grant of a pod interface as it stands; false: it is not known. */
bool pods_engine_grant(const struct engine *engine, const struct pod_interface *key,
                       struct pod_grant *ret_grant);

/* agent-cni has made both ends. Returns 0, or -ENOENT: the pod interface is not known. */
int pods_engine_wired(struct engine *engine, const struct pod_interface *key);

/* Notes which of CNI's networks a pod interface is of, where that is not known. */
void pods_engine_attach(struct engine *engine, const struct pod_interface *key,
                        const char *network);

/* The interface is gone, or shall go. Returns 1; 0 if the pod interface is not known; or -errno. */
int pods_engine_free(struct engine *engine, const struct pod_interface *key);

/* 0 if addresses can be had in the pool "default" or in any other; POD_OFF, POD_EARLY, POD_FULL. */
enum pod_refusal pods_engine_ready(struct engine *engine);

/* struct pod_attachment by pod_interface_cmp(). Borrowed until the next round. NULL: off. */
const struct sorted *pods_engine_stays(const struct engine *engine);

/* Blocks, and who has which address. Borrowed likewise; the table itself is there as long as the
 * engine. The first is NULL where nothing is known yet. NULL: off. */
const struct pod_addresses *pods_engine_addresses(const struct engine *engine);
const struct pod_addresses *pods_engine_table(const struct engine *engine);

/* The pools that pods have waited for lately. Borrowed likewise. */
const pod_wait_list *pods_engine_waits(struct engine *engine);

/*
 * Gives the addresses of stays to the Pods in the store, where they do not have them. To be called
 * before each pass. Returns 0 or -ENOMEM.
 */
int pods_engine_tell(struct engine *engine, struct store *store);
/* Whether the Pod of an attachment is in the store, and has its addresses (or cannot have any). */
bool pods_engine_told(const struct store *store, const struct pod_attachment *attachment);

/* ---- Behind other plugins, for egress alone; also with pods.enabled false ---- */

/* Takes in a pod with the addresses that it has. POD_EGRESS_OFF, POD_EARLY, POD_OTHER, ... */
enum pod_refusal pods_engine_chain(struct engine *engine, const struct pod_request *request);
/* Whether that can be done now. */
enum pod_refusal pods_engine_chain_ready(const struct engine *engine);
/* The node's end of its interface. Returns 0, or -ENOENT: the pod interface is not one of these. */
int pods_engine_chain_wired(struct engine *engine, const struct pod_interface *key,
                            uint32_t ifindex);
/* Forgets it. Returns 1, or 0 if it was none of these. */
int pods_engine_chain_free(struct engine *engine, const struct pod_interface *key);
/* One of them, NULL: none; all of them (struct pod_attachment). Borrowed until the next round. */
const struct pod_attachment *pods_engine_chained(const struct engine *engine,
                                                 const struct pod_interface *key);
const struct sorted *pods_engine_chain_list(const struct engine *engine);

/* Nothing is given out of a block (any more), or again. */
void pods_engine_close_block(struct engine *engine, const char *block, bool closed);
