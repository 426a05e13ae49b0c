/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of a Lease (coordination.k8s.io/v1): who holds it, and until when that counts.
 *
 * A Lease is read and written by itself, never listed, so that it is no kind of the store. Times
 * have microseconds in the API, and milliseconds here: what is ours is written like that, and for
 * what is of others only a difference counts, which is never below a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "format/doc.h"

/* The label of Leases that are claims of addresses; its value says nothing. */
#define LEASE_LABEL "fingerpost.io/claim"

enum {
    LEASE_HOLDER_MAX = 256,  /* bytes of an identity, with the NUL */
    LEASE_VERSION_MAX = 128, /* of a resourceVersion, with the NUL */
};

struct lease_record {
    char holder[LEASE_HOLDER_MAX];             /* "": nobody */
    int64_t duration_s;                        /* 0: not said, it is over at once */
    int64_t acquired_wall_ms, renewed_wall_ms; /* 0: not said */
    int64_t transitions;
    bool coordinated; /* has a strategy or a preferred holder: others decide who gets it */
    bool foreign;     /* written in another form than ours: its text can't be told from this */
};

/* Whether they say the same, in whichever form. */
bool lease_record_eq(const struct lease_record *a, const struct lease_record *b);

/*
 * Reads the record and the resourceVersion of a Lease as the API gives it. Returns NULL, or what is
 * wrong with it, static ("spec.leaseDurationSeconds is no number"): then nothing is changed.
 */
const char *lease_read(const struct doc *lease, struct lease_record *ret_record,
                       char ret_version[static LEASE_VERSION_MAX]);

/*
 * Writes a body: with a version, a merge patch that is refused if the Lease is another by now, and
 * leaves other labels and owners alone; without ("" or NULL), a Lease to be created. `label`: it
 * has this one, with the value "true"; NULL: none. Sticky errors of `out`, as everywhere.
 */
void lease_write(const struct lease_record *record, const char *namespace, const char *name,
                 const char *version, const char *label, struct text *out);

/*
 * Writes a JSON patch (RFC 6902) of a Lease, which is refused unless that is `over` at `version`:
 * the version alone would not tell where a store was restored from a backup and counts anew. `over`
 * is not foreign. Labels and owners stay.
 */
void lease_patch(const struct lease_record *record, const struct lease_record *over,
                 const char *version, struct text *out);
