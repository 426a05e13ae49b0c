/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fault: something is not as it should be, said so that an operator can act.
 *
 * Parsers and appliers collect faults in a list that their caller passes in; the daemon hands
 * each list to status/fault_book.h, which keeps what holds now. A list is a value: copy nothing,
 * free it once. Adding never fails on the spot: without memory the list remembers that it is
 * incomplete, and says so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/vec.h"

struct fault_type;

struct fault {
    const struct fault_type *type; /* NULL: not in the catalogue (faults/) yet */
    char *key;     /* what beside type and place makes it this fault; NULL without a type */
    char *place;   /* where: "web.yaml:12:15", "Service default/web", "10.0.0.1/32 in table 119" */
    char *message; /* what is wrong, in words; no trailing full stop */
    char *remedy;  /* what to do about it; NULL: the message says what a line should be */
};

struct faults {
    VEC(struct fault) list;
    bool incomplete; /* memory ran out while one was added */
};

/* Adds a fault. `remedy` may be NULL where the message says what is expected at a line of a file.
 */
void faults_add(struct faults *faults, const char *place, const char *remedy, const char *format,
                ...) PRINTF_LIKE(4, 5);

/* Adds a copy of a fault at a place, which may be its own. */
void faults_add_copy(struct faults *faults, const char *place, const struct fault *fault);

/* Adds a fault that is made already, and takes it over. One that is not `whole`, since memory ran
 * out while it was made, is freed, and the list is incomplete. */
void faults_push(struct faults *faults, struct fault fault, bool whole);

/* Moves the faults of `from`, which is empty afterwards, behind those of `faults`. */
void faults_take(struct faults *faults, struct faults *from);

/* True if the list holds nothing and lost nothing. */
bool faults_none(const struct faults *faults);

/* Whether two are one fault: type, place and key, or of one without a type the message. */
bool fault_is_same(const struct fault *a, const struct fault *b);

void fault_done(struct fault *fault);
void faults_done(struct faults *faults);

#define AUTOFAULTS CLEANUP(faults_done)
