/* SPDX-License-Identifier: Apache-2.0 */
/* The proofs of what was written: from the round that wrote until the last row is proved. */
#pragma once

#include "engine/nat/nat_state.h"

/* A round is about to write: it begins the proving, or joins what is being proved. */
void nat_proving_begin(struct nat_engine *engine);

/*
 * A slice of the proofs: of the turns, then of what is due. Adds to the changes. Returns 0 or
 * -ENOMEM.
 */
int nat_proving_slice(struct nat_engine *engine, service_proof_list *changes);

/* True while rows are due. */
bool nat_proving_goes_on(const struct nat_engine *engine);

/* Nothing is left to prove, and what was proved counts. */
void nat_proving_end(struct nat_engine *engine);

/* Takes every proof back: some hook does not carry our program. Returns 0 or -ENOMEM. */
int nat_proving_doubt(struct nat_engine *engine, ip_list *changed);

/* Takes back those of the addresses that a Service has no more. Returns 0 or -ENOMEM. */
int nat_proving_drop_lost(const struct nat_row *before, const struct nat_row *after,
                          service_proof_list *changes);

/* The row is about to be freed. */
void nat_proving_forget_row(struct nat_engine *engine, const struct nat_row *row);
