/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has this node's share of the claimed addresses: asks the store for the right to each, probes for
 * it, has the kernel keep it while the right lasts, says on the wire that it is here, and gives it
 * back. What a claim is comes from plan/claims/holdings.h, the right from
 * plan/claims/lease_state.h.
 *
 * When it ends, nothing is given back: the kernel keeps each address until its time is over, and
 * the next agent goes on with it.
 */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "loop/looks.h"
#include "plan/claims/holdings.h"
#include "plan/claims/lease_state.h"
#include "segment/claim_store.h"
#include "status/claim_status.h"
#include "status/fault_book.h"

struct claims;

struct claims_options {
    sd_event *event;
    struct looks *looks;
    struct claim_store store; /* taken over, even on failure */
    struct lease_rules rules;
    int64_t failback_ms; /* FAILBACK_NEVER */
    const char *node;    /* copied */
    struct claim_counts *counts;
    struct fault_book *faults;      /* subsystem "addresses" */
    void (*changed)(void *context); /* what claims_rows() says is other */
    void *context;
};

/* The rules of a configuration's duration; the rest is in proportion to it. */
struct lease_rules claims_rules(int64_t duration_ms);

/* Returns 0 or -errno. */
int claims_new(const struct claims_options *options, struct claims **ret_claims);

/*
 * What is claimed now, in place of what was; the list stays the caller's. The first call takes over
 * what the kernel keeps, and lets go of what is not in the list. Returns 0 or -ENOMEM.
 */
int claims_take(struct claims *claims, const holding_list *holdings);

/* A row for each address. Returns 0 or -ENOMEM. */
int claims_rows(const struct claims *claims, claim_row_list *ret_rows);

void claims_free(struct claims *claims);
DEFINE_CLEANUP(struct claims *, claims_free);
/* Takes what claims have told out of the book: there are none any more. */
void claims_tell_none(struct fault_book *faults);
