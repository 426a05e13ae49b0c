/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The right of one node to have an address on an interface: a lease, written as a Lease object that
 * all nodes see. This is one node's state of one Lease and its next step, so that no two kernels
 * ever have the address at the same time.
 *
 * This relies on:
 *
 * - Each write has the version and the previous content as preconditions, or is a create. So a
 *   success proves that there was no other write in between, also where the store was restored from
 *   a backup and reuses versions.
 * - The holder counts from when its last renewal that is in the store was *sent*. It has the
 *   address for the duration minus `early_ms`: lease_until_ms(). Then the kernel removes the
 *   address, even if the agent has died.
 * - All others count from when they first saw the current record, and wait for the duration in it
 *   plus `late_ms`. They saw it after it was sent, so their wait ends after the holder's time.
 *   Clocks need not be synchronized, and no time in a record is used.
 * - A success response is not the only proof that a renewal is in the store; the record itself is
 *   another. No two writes of a node are equal (their renewTime differs), so a read that returns a
 *   sent record proves that very write: it was done after it was sent, no other write replaced it
 *   before the read, and a later writer waits as above. `pending` has the writes without a
 *   response, each with the time when it was sent. A write that is done after it was abandoned
 *   counts like any other, from the time when it was sent.
 * - A holder removes the address before it writes the release. Then no node waits.
 * - A deleted record counts like one that has just changed: its holder may not know of the deletion
 *   yet.
 * - A record with this node's name is this node's only if it was written by this run of the agent
 *   (by acquireTime), or if this kernel had the address when the agent started. Else it may be of
 *   another machine of the same name, and the node waits until it expires. After its time it is
 *   still this node's if it is pending: a store that hung may complete the write late, and others
 *   wait for it.
 * - A release clears `pending`: the release may be done later than any response shows, and after it
 *   no earlier write is valid.
 *
 * Several eligible nodes try to acquire an address in order of rank, `step_ms` apart, or PACE times
 * the store's response time: so the second hears of the first's success before it asks. A new node
 * that saw the record late delays the others only by that time. A node without a rank releases the
 * lease. The holder renews after a third of the duration, or earlier by the time that the store's
 * last write took. After a failure a node tries again after a pause (lease_pause.h) and a read.
 *
 * A renewal can be sent after the response to the previous one, and needs its response before the
 * kernel's last whole second. So with a store that takes longer for a write than
 * lease_keepable_ms(), which is slightly less than half of that time, an address can't be kept: it
 * would be added and removed repeatedly, and in between all other nodes would wait for a record
 * that is renewed in vain. A node that acquires the lease by such a slow write, or regains it after
 * it had expired, releases it, and tries again after a pause.
 *
 * Times are of CLOCK_BOOTTIME: it includes the time of a suspend. A machine whose clock stopped as
 * well has the address until its next renewal is refused. Time asleep counts against own leases,
 * but not as waiting for others: lease_slept().
 *
 * Pure: time is an argument, requests to the store are results.
 *
 * Not covered by versions: if the store loses writes (etcd restored from a backup), a node that saw
 * none of them may acquire an address that another still has; the same if an operator deletes the
 * Lease of a holder while another node's create is under way. The probe before an address is used
 * detects both.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/lease.h"
#include "plan/claims/lease_rules.h"
#include "plan/pods/pending_writes.h"

enum lease_step {
    LEASE_WAIT,    /* until lease_next_ms() */
    LEASE_READ,    /* get the Lease: lease_saw(), lease_absent() or lease_failed() */
    LEASE_CREATE,  /* create it with `desired`: lease_wrote() or lease_failed() */
    LEASE_UPDATE,  /* write `desired` over `version`: likewise */
    LEASE_RELEASE, /* the same: `desired` has no holder */
};

/* The known state of the record in the store. */
enum lease_sight {
    LEASE_UNKNOWN, /* never seen */
    LEASE_THERE,   /* `seen`, `version` */
    LEASE_ABSENT,
};

enum { LEASE_NO_RANK = -1 };

struct lease {
    struct lease_rules rules;
    const char *node;  /* borrowed: shorter than LEASE_HOLDER_MAX, not empty */
    int32_t rank;      /* 0: first; LEASE_NO_RANK: this node is not eligible */
    int64_t ranked_ms; /* since when it has a rank */
    int64_t answer_ms; /* response time of the store; 0: unknown */
    bool installed;    /* the kernel has the address */

    enum lease_step asked; /* the request under way; LEASE_WAIT: none */
    int64_t asked_ms;
    struct lease_record desired; /* the record of the last write request */
    struct pending_writes pending;
    int64_t took_ms;       /* duration of the last write, or how long its response was awaited */
    bool giving_back;      /* the store is too slow to keep it */
    int64_t slow_pause_ms; /* the last pause for that reason; 0: the store is fast enough */
    int64_t slow_until_ms; /* no acquisition before */
    uint32_t random;       /* for pauses */
    int64_t pause_ms;      /* of the last failure; 0: the last attempt did not fail */
    int64_t not_before_ms; /* of the next attempt */

    enum lease_sight sight;
    bool stale; /* the store may have another record: read before a write */
    struct lease_record seen;
    char version[LEASE_VERSION_MAX];
    int64_t changed_ms; /* when the known record was first seen; absent: since when */
    int64_t there_ms;   /* the last time that it may have existed, by messages received or lost */
    int64_t absent_ms;  /* the last read that found it absent */
    int64_t bound_ms;   /* how long other nodes must wait, from then on */

    int64_t acquired_wall_ms; /* acquireTime of this node's lease in this run; 0: none */
    int64_t sure_ms;          /* until when this state must be kept; 0: no state */
    bool renewed;             /* `renewed_ms` is a time */
    int64_t renewed_ms;       /* when the last proved write was sent */
    int64_t inherited_ms;     /* until when the kernel has it from an earlier run; 0: it has not */
};

/*
 * Begins without a rank and without a known record. `inherited_ms`: until when the kernel has the
 * address, added by an earlier run of this agent; 0 if it has not. `node` is borrowed.
 */
void lease_begin(struct lease *lease, const struct lease_rules *rules, const char *node,
                 int64_t inherited_ms);

/* Sets the rank: the number of nodes before this one; LEASE_NO_RANK: not eligible (any longer). */
void lease_rank(struct lease *lease, int32_t rank, int64_t now_ms);

/* Sets the store's current response time: ranks are further apart while it is slow. */
void lease_pace(struct lease *lease, int64_t answer_ms);

/* Sets a uniform random number, by which the next pause is shortened. */
void lease_draw(struct lease *lease, uint32_t random);

/* Sets whether the kernel has the address. The lease is not released while it has. */
void lease_installed(struct lease *lease, bool installed);

/* Until when the kernel may have the address; not after that time. 0: not at all. */
int64_t lease_until_ms(const struct lease *lease);

/*
 * The lifetime in whole seconds that an address may get now; 0: it must be removed. It ends before
 * lease_until_ms(), apart from the kernel's delay, which early_ms covers.
 */
uint32_t lease_lifetime_s(const struct lease *lease, int64_t now_ms);

/*
 * Returns the request to send now, once; to be called after each event, and at lease_next_ms().
 * Returns LEASE_WAIT while a response is due or the time has not come. `wall_ms` is informational,
 * for the times in the record.
 */
enum lease_step lease_next(struct lease *lease, int64_t now_ms, int64_t wall_ms);

/* When lease_next() has a request without an event; INT64_MAX: never. */
int64_t lease_next_ms(const struct lease *lease);

/*
 * The timeout of the request just sent. A renewal is abandoned in time for another attempt; without
 * a lease to lose the timeout is as long as a lease would last.
 */
int64_t lease_limit_ms(const struct lease *lease);

/*
 * The duration of the last write, if it is too long to keep the address; 0: the store is fast
 * enough, another node still has the address, or this node is not eligible.
 */
int64_t lease_slow_ms(const struct lease *lease, int64_t now_ms);

/*
 * When another holder's time by the known record ends, unless it is renewed; INT64_MAX if it has no
 * other holder.
 */
int64_t lease_others_end_ms(const struct lease *lease);

/* The clock has advanced by this time during a suspend, in which nothing could be received. */
void lease_slept(struct lease *lease, int64_t slept_ms, int64_t now_ms);

/* Handle the responses. A response without a request is ignored. */

void lease_saw(struct lease *lease, const struct lease_record *record, const char *version,
               int64_t now_ms);

/*
 * `since_ms`: since when a watch without a gap, up to this response, has shown that this record
 * does not exist; `now_ms` if there was no watch, or it is behind.
 */
void lease_absent(struct lease *lease, int64_t since_ms, int64_t now_ms);

/* With the previous version it is a failure. */
void lease_wrote(struct lease *lease, const char *version, int64_t now_ms);

/* A conflict, or no response: in the latter case the write may have been done. */
void lease_failed(struct lease *lease, bool is_conflict, int64_t now_ms);
/* The store refuses; `retry_after_ms`: its Retry-After; 0: none. */
void lease_refused(struct lease *lease, int64_t retry_after_ms, int64_t now_ms);

/*
 * An event of a watch, perhaps late; `record` is NULL if it was deleted. A holder does not rely on
 * it, but reads the record.
 */
void lease_heard(struct lease *lease, const struct lease_record *record, const char *version,
                 int64_t now_ms);
