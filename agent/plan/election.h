/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who leads, by a Lease: what one candidate does next, by the rules of client-go's leader election,
 * so that candidates of both kinds can share a Lease.
 *
 * The rules, to the letter:
 *
 * - Another's claim ends when its record has not changed for the duration that it names, on the
 *   clock of the one who looks. The times in a record are for people: clocks of machines differ.
 * - A record without a holder is free at once.
 * - The leader renews with the version it has seen last, without reading first; only if that fails
 *   does it read.
 * - A candidate tries every retry period times 1 to 2.2, so that candidates do not march in step; a
 *   leader renews every retry period. One thing is added: a candidate also looks when the claim
 *   that it knows ends, and up to a quarter of a period later. Who was killed is followed that much
 *   earlier: within 4.4 s, 15 s and half a second by default, in place of 4.4 s twice.
 * - A leader who has not renewed for the renew deadline leads no more, counted from when its last
 *   renewal that succeeded was sent (client-go counts from its answer, which may be late). Its
 *   claim is in force for others until the lease ends. That fences nothing that is under way, so
 *   each write has a precondition of its own.
 * - The number of transitions grows only when the holder changes, and a renewal keeps the time of
 *   acquisition.
 * - Nobody renews or takes a Lease that is coordinated by others (`strategy`, `preferredHolder`).
 *
 * Pure: time and chance come in, and what to ask of the API goes out. The controller's election
 * does the asking.
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
    bool asked;              /* for that step, and its answer is due */
    bool read;               /* this attempt has read the Lease */
    bool leading;
    int64_t next_ms;                 /* of the next attempt */
    int64_t asked_ms;                /* when the step was asked for */
    int64_t renewed_ms;              /* leading: when the last renewal that succeeded was asked */
    struct lease_record seen;        /* the record as it was seen last */
    char version[LEASE_VERSION_MAX]; /* of the Lease then; "": it has not been seen */
    int64_t changed_ms;              /* when `seen` was first seen as it is, monotonic */
};

/* Begins as a follower who tries at once. `identity` is not empty and fits. */
void election_begin(struct election *election, const struct election_rules *rules,
                    const char *identity, int64_t now_ms);

/*
 * What is to be asked now, once; to be called after each answer, and at election_next_ms().
 * ELECTION_WAIT while an answer is due or the time has not come. Gives leadership up when its
 * deadline is over (`leading` tells): what is under way then is to be cancelled.
 */
enum election_step election_next(struct election *election, int64_t now_ms);

/* When election_next() has something to say without an answer; INT64_MAX: never. */
int64_t election_next_ms(const struct election *election);

/* The record to be written now by a create or an update. */
struct lease_record election_desired(const struct election *election, int64_t wall_ms);

/*
 * The answers; `leading` says what has become of it. `chance` is any number: it spreads the
 * candidates. An answer to nothing that was asked is ignored.
 */
void election_saw(struct election *election, const struct lease_record *record, const char *version,
                  uint32_t chance, int64_t now_ms);
void election_absent(struct election *election);
void election_wrote(struct election *election, const struct lease_record *record,
                    const char *version, int64_t now_ms);
/* Refused, in conflict, or without an answer. */
void election_failed(struct election *election, uint32_t chance, int64_t now_ms);

/*
 * What the leader leaves behind when it ends in order: nobody holds it, and a second is enough to
 * wait. False if it does not lead: then nothing is to be written.
 */
bool election_release(const struct election *election, int64_t wall_ms,
                      struct lease_record *ret_record);

/*
 * The same after that was in conflict, with the Lease as it is now. False if it is another's: then
 * nothing is to be written.
 */
bool election_release_again(struct election *election, const struct lease_record *record,
                            const char *version, int64_t wall_ms, struct lease_record *ret_record);

/* True if it leads at this moment, even if no step has told it yet that its time is over. */
bool election_leads(const struct election *election, int64_t now_ms);
