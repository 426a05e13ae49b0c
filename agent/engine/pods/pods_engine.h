/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods engine: assigns addresses of this node's blocks to pods, and maintains the routes to
 * them. It is a row of the table of engines.
 *
 * agent-cni makes a pod's interface: it queries here what to make (pods_engine_want()) and reports
 * that it is made (pods_engine_wired()). The engine maintains the host's side: it finds the links
 * by their aliases, keeps a route to each address, restores a link's alias, and reports faults. The
 * kernel's tables are authoritative: a pod interface without a link is a promise, and expires.
 *
 * The functions below are for the rest of the agent; each takes the engine with the operations
 * pods_engine_ops. With pods.enabled false the engine holds nothing and refuses every request.
 */
#pragma once

#include "engine/engine.h"
#include "plan/pods/pod_attachment.h"
#include "plan/pods/pod_pools.h"

extern const struct engine_ops pods_engine_ops;

/* Assigns addresses to a pod's interface, the same as before if it has some. */
enum pod_refusal pods_engine_want(struct engine *engine, const struct pod_request *request,
                                  struct pod_grant *ret_grant);

/* The present grant of a pod interface; false: it is not known. */
bool pods_engine_grant(const struct engine *engine, const struct pod_interface *key,
                       struct pod_grant *ret_grant);

/* agent-cni has made both ends. Returns 0, or -ENOENT: the pod interface is not known. */
int pods_engine_wired(struct engine *engine, const struct pod_interface *key);

/* Records to which CNI network a pod interface belongs, where that is not known. */
void pods_engine_attach(struct engine *engine, const struct pod_interface *key,
                        const char *network);

/*
 * The interface is gone, or is about to be deleted. Returns 1; 0 if the pod interface is not known;
 * or -errno.
 */
int pods_engine_free(struct engine *engine, const struct pod_interface *key);

/* 0 if addresses are available in pool "default" or in another; POD_OFF, POD_EARLY, POD_FULL. */
enum pod_refusal pods_engine_ready(struct engine *engine);

/* struct pod_attachment by pod_interface_cmp(). Borrowed until the next round. NULL: off. */
const struct sorted *pods_engine_stays(const struct engine *engine);

/* Blocks, and the owner of each address. Borrowed likewise; the table exists as long as the engine.
 * The first is NULL where nothing is known yet. NULL: off. */
const struct pod_addresses *pods_engine_addresses(const struct engine *engine);
const struct pod_addresses *pods_engine_table(const struct engine *engine);

/* The pools for which pods have recently waited. Borrowed likewise. */
const pod_wait_list *pods_engine_waits(struct engine *engine);

/*
 * Writes the addresses of attachments to the Pods in the store that lack them. To be called before
 * each pass. Returns 0 or -ENOMEM.
 */
int pods_engine_tell(struct engine *engine, struct store *store);
/* Whether the Pod of an attachment is in the store, and has its addresses (or cannot have any). */
bool pods_engine_told(const struct store *store, const struct pod_attachment *attachment);

/* ---- Behind other plugins, for egress alone; also with pods.enabled false ---- */

/* Registers a pod with the addresses that it has. POD_EGRESS_OFF, POD_EARLY, POD_OTHER, ... */
enum pod_refusal pods_engine_chain(struct engine *engine, const struct pod_request *request);
/* Whether a pod can be registered now. */
enum pod_refusal pods_engine_chain_ready(const struct engine *engine);
/*
 * Records the node's end of its interface. Returns 0, or -ENOENT: the pod interface is not one of
 * these.
 */
int pods_engine_chain_wired(struct engine *engine, const struct pod_interface *key,
                            uint32_t ifindex);
/* Forgets the pod interface. Returns 1, or 0 if it was none of these. */
int pods_engine_chain_free(struct engine *engine, const struct pod_interface *key);
/* One of them, NULL: none; all of them (struct pod_attachment). Borrowed until the next round. */
const struct pod_attachment *pods_engine_chained(const struct engine *engine,
                                                 const struct pod_interface *key);
const struct sorted *pods_engine_chain_list(const struct engine *engine);

/* Stops or resumes the assignment of addresses out of a block. */
void pods_engine_close_block(struct engine *engine, const char *block, bool closed);
