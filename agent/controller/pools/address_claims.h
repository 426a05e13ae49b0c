/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of claims: a ConfigMap with the addresses that are being allocated, before they are
 * written to any Service.
 *
 * A Service's status can be written only under a precondition about that Service. So two
 * controllers that both take themselves for the leader could allocate one address to two Services.
 * Therefore each allocation is claimed first, in the one record, by a write that is refused if the
 * record has changed since the writer read it; a controller whose write is refused drops its state
 * and reads the record again. A new leader treats claimed addresses as in use, whether or not they
 * were written. So one address is never written to two Services, whatever clocks, leases and late
 * packets do.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "controller/board.h"

struct address_claims;

enum { CLAIMS_SEEN_MAX = 64 };

struct address_claims_options {
    const struct board *board;
    /* The record was read: `state` as it was written last, NULL if there is no record. `seen`: the
     * resourceVersion up to which Services must be known before the record is valid; "" any. */
    void (*read)(void *context, const char *state, const char *seen);
    /* The write is stored. */
    void (*written)(void *context);
    /* The write is refused or its outcome is unknown: the state is invalid until the record was
     * read again, which is tried soon, with growing delays. */
    void (*lost)(void *context);
    /* Another client has deleted it: it has to be written again. */
    void (*gone)(void *context);
    void *context;
};

/* `options` is copied. Returns 0 or -ENOMEM. */
int address_claims_new(const struct address_claims_options *options,
                       struct address_claims **ret_claims);
void address_claims_free(struct address_claims *claims);
DEFINE_CLEANUP(struct address_claims *, address_claims_free);

/* Reads the record, and repeats that until it succeeds; cancels what is under way. */
void address_claims_begin(struct address_claims *claims);
void address_claims_end(struct address_claims *claims);

/* Whether the record was read and no request is under way. */
bool address_claims_are_known(const struct address_claims *claims);

/* The resourceVersion of the record at the last read or write; "": there is none. */
const char *address_claims_version(const struct address_claims *claims);

/* Writes the record; it must be known. Returns 0 or -ENOMEM. */
int address_claims_write(struct address_claims *claims, const char *state, const char *seen);

/* Retries what failed, and checks whether the record still exists, when due. */
void address_claims_work(struct address_claims *claims, int64_t now_ms);
int64_t address_claims_next_ms(const struct address_claims *claims);

void address_claims_faults(const struct address_claims *claims, struct faults *faults);
