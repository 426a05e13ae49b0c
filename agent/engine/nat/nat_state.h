/* SPDX-License-Identifier: Apache-2.0 */
/* What the halves of NAT's part of a pass share. Internal to the engine. */
#pragma once

#include "engine/nat/nat_engine.h"

/* Replaces the faults of one sort ("maps", "proof") of a Service. */
void nat_engine_report_row(struct nat_engine *engine, const char *what, const struct nat_row *row,
                           const struct faults *faults);

/* The row of a Service as planned, or NULL. */
struct nat_row *nat_engine_row(const struct nat_engine *engine, const char *namespace,
                               const char *name);

/* Forgets what was planned and not written. */
void nat_engine_drop_turns(struct nat_engine *engine);

/* ---- nat_proving.c ---- */

/* A pass is about to write; `all`: everything. It opens a round, or joins the one that is open. */
void nat_engine_begin_round(struct nat_engine *engine, bool all);
/*
 * A slice of the proofs: of the turns, then of what is due. Adds to the changes. Returns 0 or
 * -ENOMEM.
 */
int nat_engine_prove(struct nat_engine *engine, service_proof_list *changes);
/* Nothing is left to prove, and what was proved counts. */
void nat_engine_end_round(struct nat_engine *engine);

/* Takes every proof back: some hook does not hold our program. Returns 0 or -ENOMEM. */
int nat_engine_disprove(struct nat_engine *engine, ip_list *changed);
/* Takes back those of the addresses that a Service has no more. Returns 0 or -ENOMEM. */
int nat_engine_disprove_lost(const struct nat_row *old, const struct nat_row *new,
                             service_proof_list *changes);
/* The row is about to be freed. */
void nat_engine_forget_row(struct nat_engine *engine, const struct nat_row *row);
