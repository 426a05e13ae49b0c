/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election by a Lease: the next step of one candidate, by the rules of client-go's leader
 * election, so that our candidates and those of client-go can share a Lease.
 *
 * The rules:
 *
 * - Another candidate's lease expires when its record has not changed for the lease duration in the
 *   record, on the observer's clock. The times in a record are informational, since clocks of
 *   machines differ.
 * - A record without a holder is free at once.
 * - The leader renews with the last seen resourceVersion, without reading first; it reads only if
 *   that fails.
 * - A candidate retries after the retry period times 1 to 2.2, so that candidates are not
 *   synchronized; a leader renews every retry period. One thing is added: a candidate also reads
 *   when the known lease expires, and up to a quarter of a period later. So a killed leader is
 *   replaced earlier: within 4.4 s, 15 s and half a second by default, in place of 4.4 s twice.
 * - A leader that has not renewed for the renew deadline stops leading; the time counts from when
 *   its last successful renewal was sent (client-go counts from the response, which may be late).
 *   For others its lease is valid until it expires. This does not fence writes under way, so each
 *   write has a precondition.
 * - leaseTransitions is incremented only when the holder changes, and a renewal keeps acquireTime.
 * - A Lease under coordinated leader election (`strategy`, `preferredHolder`) is neither renewed
 *   nor acquired.
 *
 * Pure: time and random numbers are arguments, requests to the API are results. The controller's
 * election sends them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/lease.h"

struct election_rules {
    int64_t lease_ms; /* 15 s by default, renew_ms 10 s, retry_ms 2 s */
    int64_t renew_ms;
    int64_t retry_ms;
};

extern const struct election_rules election_rules_default;

enum election_step {
    ELECTION_WAIT,   /* until election_next_ms() */
    ELECTION_READ,   /* GET the Lease: election_saw(), election_absent() or election_failed() */
    ELECTION_CREATE, /* POST election_desired(): election_wrote() or election_failed() */
    ELECTION_UPDATE, /* PUT election_desired() over `version`: likewise */
};

struct election {
    struct election_rules rules;
    char identity[LEASE_HOLDER_MAX];
    enum election_step step; /* of the attempt under way; ELECTION_WAIT: there is none */
    bool asked;              /* the request of that step is sent, and its response is due */
    bool read;               /* this attempt has read the Lease */
    bool leading;
    int64_t next_ms;                 /* of the next attempt */
    int64_t asked_ms;                /* when the request of the step was sent */
    int64_t renewed_ms;              /* leading: when the last successful renewal was sent */
    struct lease_record seen;        /* the last seen record */
    char version[LEASE_VERSION_MAX]; /* resourceVersion of `seen`; "": none seen */
    int64_t changed_ms;              /* when the content of `seen` was first seen, monotonic */
};

/*
 * Begins as a follower that tries at once. `identity` is not empty and shorter than
 * LEASE_HOLDER_MAX.
 */
void election_begin(struct election *election, const struct election_rules *rules,
                    const char *identity, int64_t now_ms);

/*
 * Returns the request to send now, once; to be called after each response, and at
 * election_next_ms(). Returns ELECTION_WAIT while a response is due or the time has not come. Ends
 * leadership when its deadline has passed (see `leading`): the caller then cancels writes under
 * way.
 */
enum election_step election_next(struct election *election, int64_t now_ms);

/* When election_next() has a step without a response; INT64_MAX: never. */
int64_t election_next_ms(const struct election *election);

/* The record to be written now by a create or an update. */
struct lease_record election_desired(const struct election *election, int64_t wall_ms);

/*
 * Handle the responses and update `leading`. `chance` is a random number that spreads the
 * candidates. A response without a request is ignored.
 */
void election_saw(struct election *election, const struct lease_record *record, const char *version,
                  uint32_t chance, int64_t now_ms);
void election_absent(struct election *election);
void election_wrote(struct election *election, const struct lease_record *record,
                    const char *version, int64_t now_ms);
/* The request was refused, had a conflict, or got no response. */
void election_failed(struct election *election, uint32_t chance, int64_t now_ms);

/*
 * The record that a leader writes at a clean shutdown: no holder, and a lease duration of one
 * second. False if it does not lead: nothing is to be written.
 */
bool election_release(const struct election *election, int64_t wall_ms,
                      struct lease_record *ret_record);

/*
 * The same after a conflict of that write, with the current Lease. False if another candidate holds
 * it: nothing is to be written.
 */
bool election_release_again(struct election *election, const struct lease_record *record,
                            const char *version, int64_t wall_ms, struct lease_record *ret_record);

/*
 * True if it leads at this time. False after its deadline, also before election_next() has ended
 * its leadership.
 */
bool election_leads(const struct election *election, int64_t now_ms);
