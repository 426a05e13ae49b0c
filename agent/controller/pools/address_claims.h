/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of claims: a ConfigMap that says which addresses are being given, before any Service
 * is told so.
 *
 * A Service's status can be written under a precondition about that Service alone. Two controllers
 * that both believe to lead could so give one address to two Services. Therefore each gift is
 * claimed first, in the one record, by a write that is refused if the record is another than the
 * writer has read; who is refused knows nothing any more and reads the record anew. A successor
 * takes what he finds claimed for given, whether or not it was. So no two Services are ever told of
 * one address, whatever clocks, leases and late packets do.
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
    /* The record was read: `state`, NULL if there is none, as it was written last. `seen`: the
     * resourceVersion up to which Services must be known before its words count; "" any. */
    void (*read)(void *context, const char *state, const char *seen);
    /* What was to be written stands. */
    void (*written)(void *context);
    /* It does not, or nobody knows: nothing counts until it was read again, which is done soon, and
     * later each time. */
    void (*lost)(void *context);
    /* Somebody has deleted it: it is to be written anew. */
    void (*gone)(void *context);
    void *context;
};

/* `options` is copied. Returns 0 or -ENOMEM. */
int address_claims_new(const struct address_claims_options *options,
                       struct address_claims **ret_claims);
void address_claims_free(struct address_claims *claims);
DEFINE_CLEANUP(struct address_claims *, address_claims_free);

/* Reads the record, now and until it answers; ends whatever is under way. */
void address_claims_begin(struct address_claims *claims);
void address_claims_end(struct address_claims *claims);

/* Whether the record was read, and nothing is under way. */
bool address_claims_are_known(const struct address_claims *claims);

/* The resourceVersion of the record as it was read or written last; "": there is none. */
const char *address_claims_version(const struct address_claims *claims);

/* Writes the record; it must be known. Returns 0 or -ENOMEM. */
int address_claims_write(struct address_claims *claims, const char *state, const char *seen);

/* Tries again what failed, and looks whether the record is still there, when it is time. */
void address_claims_work(struct address_claims *claims, int64_t now_ms);
int64_t address_claims_next_ms(const struct address_claims *claims);

void address_claims_faults(const struct address_claims *claims, struct faults *faults);
