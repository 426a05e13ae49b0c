/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NAT engine. It plans the Services that are dirty, writes what changed into the live maps, and
 * proves what was written. With services.enabled false it only removes what an earlier agent left.
 *
 * The functions below are for the rest of the program: health, the API, `agentctl trace`. Each
 * takes the engine with the operations nat_engine_ops.
 */
#pragma once

#include "apply/nat/datapath.h"
#include "base/sorted.h"
#include "engine/engine.h"
#include "plan/facts.h"
#include "plan/nat/nat_table.h"
#include "plan/nat/trace.h"

extern const struct engine_ops nat_engine_ops;

/*
 * Calls `told` from now on with each row that is new or changed, and with NULL for a row that is
 * removed. A NULL `told` ends this.
 */
void nat_engine_listen(struct engine *engine,
                       void (*told)(const char *namespace, const char *name,
                                    const struct nat_row *row, void *context),
                       void *context);

/* The live maps; NULL: NAT is off, or could not be opened. Borrowed. */
struct nat_datapath *nat_engine_datapath(struct engine *engine);
/* struct nat_row *: every Service as planned. Borrowed. */
const struct sorted *nat_engine_rows(const struct engine *engine);
/* The facts about this node that the planner reads. Borrowed, until the kernel is read again. */
struct node_facts nat_engine_facts(const struct engine *engine);
/* Whether the maps exist and each hook carries our program. */
bool nat_engine_works(const struct engine *engine);

/* Whether the NAT programs are attached to an interface of a pod, or NAT is off. */
bool nat_engine_carries(const struct engine *engine, uint32_t ifindex);

/* The result of the last proof of an address. False: there was none. */
bool nat_engine_proof(const struct engine *engine, const struct ip *address,
                      struct nat_proof *ret_proof);
/* Reads from the maps what was refused, and adds it to status. Returns 0 or -errno. */
int nat_engine_refusals(struct engine *engine, nat_refusal_list *ret_list);
/* Where maps and hooks differ from what the objects require. Returns 0 or -errno. */
int nat_engine_verify(struct engine *engine, nat_difference_list *list);
/* What happens to one packet; a trace_function. `next`: the step behind NAT; NULL: none. */
int nat_engine_trace(struct engine *engine, const struct trace_question *question,
                     const struct trace_next *next, struct trace *ret_trace);
