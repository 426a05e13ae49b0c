/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds this node's share of the claimed addresses: acquires the lease of each from the store,
 * probes for the address, has the kernel keep it while the lease lasts, announces it on the
 * segment, and releases the lease. plan/claims/holdings.h has what a claim is,
 * plan/claims/lease_state.h the lease.
 *
 * At exit nothing is released: the kernel keeps each address until its lifetime ends, and the next
 * agent continues with it.
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
    struct claim_store store; /* ownership is taken, even on failure */
    struct lease_rules rules;
    int64_t failback_ms; /* FAILBACK_NEVER */
    const char *node;    /* copied */
    struct claim_counts *counts;
    struct fault_book *faults;      /* subsystem "addresses" */
    void (*changed)(void *context); /* the result of claims_rows() has changed */
    void *context;
};

/* The rules for a configured duration; all other times are in proportion to it. */
struct lease_rules claims_rules(int64_t duration_ms);

/* Returns 0 or -errno. */
int claims_new(const struct claims_options *options, struct claims **ret_claims);

/*
 * Replaces the list of claims; the list stays the caller's. The first call adopts the addresses
 * that the kernel keeps, and releases those that are not in the list. Returns 0 or -ENOMEM.
 */
int claims_take(struct claims *claims, const holding_list *holdings);

/* A row for each address. Returns 0 or -ENOMEM. */
int claims_rows(const struct claims *claims, claim_row_list *ret_rows);

void claims_free(struct claims *claims);
DEFINE_CLEANUP(struct claims *, claims_free);
/* Removes all faults of claims from the book, since there are no claims any more. */
void claims_tell_none(struct fault_book *faults);
