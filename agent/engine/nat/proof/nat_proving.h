/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the proofs of what was written, in slices: from the round that wrote until the last row is
 * proved.
 */
#pragma once

#include "engine/nat/nat_state.h"

/* A round is about to write: proving begins, or continues with what this round adds. */
void nat_proving_begin(struct nat_engine *engine);

/*
 * Proves for a few milliseconds, first the updates, then the rows in engine->to_prove. Adds the
 * results to the changes. Returns 0 or -ENOMEM.
 */
int nat_proving_slice(struct nat_engine *engine, service_proof_list *changes);

/* True while rows are left to prove. */
bool nat_proving_goes_on(const struct nat_engine *engine);

/* Ends the proving once nothing is left, and records how long it took. */
void nat_proving_end(struct nat_engine *engine);

/* Takes back every proof: some hook lacks our program. Returns 0 or -ENOMEM. */
int nat_proving_invalidate(struct nat_engine *engine, ip_list *changed);

/* Takes back the proofs of addresses that a Service no longer has. Returns 0 or -ENOMEM. */
int nat_proving_drop_lost(const struct nat_row *before, const struct nat_row *after,
                          service_proof_list *changes);

/* The row is about to be freed. */
void nat_proving_forget_row(struct nat_engine *engine, const struct nat_row *row);
