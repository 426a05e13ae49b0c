/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is proved of addresses. A proof is of one Service on one address; an address that several
 * share is proved if each of them answers as planned, and one at least forwards. What the route
 * planner reads is the sum, by address.
 */
#pragma once

#include "base/sorted.h"
#include "plan/nat_table.h"
#include "plan/route_inputs.h"
#include "status/nat_status.h"

struct nat_proofs {
    struct sorted of_services;  /* struct service_proof */
    struct sorted of_addresses; /* struct proof */
};

void nat_proofs_init(struct nat_proofs *proofs);
void nat_proofs_done(struct nat_proofs *proofs);

/* One Service on one address. */
struct service_proof {
    struct ip address;
    char *service; /* "namespace/name"; "": inherited from an earlier agent */
    bool gone;     /* of a change: the Service is not there any more */
    bool as_planned, forwards;
    char *why; /* NULL: nothing is against */
};
typedef VEC(struct service_proof) service_proof_list;

/*
 * Adds to the changes what is new of a Service on the addresses that it has or had: what `list`
 * has no proof of is gone. Returns 0 or -ENOMEM.
 */
int nat_proofs_change(service_proof_list *changes, const struct nat_row *row,
                      const ip_list *addresses, const nat_proof_list *list);

/*
 * Takes the changes in, and empties them; adds every address whose sum changed to `changed`. Of
 * inherited proofs those of the same addresses end. Returns 0, or -ENOMEM with nothing done.
 */
int nat_proofs_commit(struct nat_proofs *proofs, service_proof_list *changes, ip_list *changed);

/*
 * An address that an earlier agent announced counts as proved until something is known of it, so
 * that a restart takes nothing away. Returns 0 or -ENOMEM.
 */
int nat_proofs_inherit(service_proof_list *changes, const struct ip *address);

/* Ends what is still inherited. Returns 0 or -ENOMEM. */
int nat_proofs_disinherit(const struct nat_proofs *proofs, service_proof_list *changes);
/* Takes back every proof: the hooks don't hold. Returns 0 or -ENOMEM. */
int nat_proofs_doubt(const struct nat_proofs *proofs, const char *why, service_proof_list *changes);
void service_proofs_done(service_proof_list *changes);

/* How many addresses are proved, and how many are not. */
void nat_proofs_count(const struct nat_proofs *proofs, uint32_t *ret_proved,
                      uint32_t *ret_unproved);
/* The sum of an address, with the words of the first Service there that says why not. */
bool nat_proofs_find(const struct nat_proofs *proofs, const struct ip *address,
                     struct nat_proof *ret_proof);
