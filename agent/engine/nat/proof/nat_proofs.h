/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of proofs. A proof is about one Service on one address. An address that several
 * Services share is proved if each of them answers as planned and at least one forwards. The route
 * planner reads only this sum, by address.
 */
#pragma once

#include "base/sorted.h"
#include "plan/nat/nat_table.h"
#include "plan/routes/route_inputs.h"
#include "status/nat_status.h"

struct nat_proofs {
    struct sorted of_services;  /* struct service_proof */
    struct sorted of_addresses; /* struct proof */
};

void nat_proofs_init(struct nat_proofs *proofs);
void nat_proofs_done(struct nat_proofs *proofs);

typedef VEC(struct service_proof) service_proof_list;

/*
 * Adds to the changes the proofs of a Service on `addresses`, which it has or had: with the result
 * in `list`, and removed where `list` has none. Returns 0 or -ENOMEM.
 */
int nat_proofs_change(service_proof_list *changes, const struct nat_row *row,
                      const ip_list *addresses, const nat_proof_list *list);

/*
 * Puts the changes into the table and empties the list; appends every address whose sum changed to
 * `changed`. Ends the inherited proofs of the same addresses. Returns 0 or -ENOMEM.
 */
int nat_proofs_commit(struct nat_proofs *proofs, service_proof_list *changes, ip_list *changed);

/*
 * Adds an inherited proof: an earlier agent announced the address, and it counts as proved until
 * its state is known, so that a restart withdraws nothing. Returns 0 or -ENOMEM.
 */
int nat_proofs_inherit(service_proof_list *changes, const struct ip *address);

/* Whether an address has only an inherited proof. */
bool nat_proofs_is_inherited(const struct nat_proofs *proofs, const struct ip *address);

/* Ends all inherited proofs that are left. Returns 0 or -ENOMEM. */
int nat_proofs_disinherit(const struct nat_proofs *proofs, service_proof_list *changes);
/* Takes back every proof: some hook lacks our program. Returns 0 or -ENOMEM. */
int nat_proofs_invalidate(const struct nat_proofs *proofs, const char *why,
                          service_proof_list *changes);
void service_proofs_done(service_proof_list *changes);

/* The number of addresses that are proved, and of those that are not. */
void nat_proofs_count(const struct nat_proofs *proofs, uint32_t *ret_proved,
                      uint32_t *ret_unproved);
/* The sum of an address; if it is not proved, with the reason of the first Service that has one. */
bool nat_proofs_find(const struct nat_proofs *proofs, const struct ip *address,
                     struct nat_proof *ret_proof);
