/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The right of one node to have an address on an interface: a lease, written as a Lease object that
 * all nodes see. This is what one node knows of one Lease and does next, so that no two kernels
 * ever have the address at once.
 *
 * What that rests on:
 *
 * - Each write names the version that it changes and what that said, or creates what must not be
 *   there. So an answer of success proves that nobody else wrote since, also where the store was
 *   restored from a backup and counts its versions anew.
 * - The one who holds counts from when its last renewal that is in the store was *sent*. It has the
 *   address for the duration less `early_ms`: lease_until_ms(). The kernel takes it away then by
 *   itself, whatever has become of the agent.
 * - All others count from when they first saw the record as it is, and wait for the duration that
 *   it names and `late_ms`. They saw it after it was sent, so their wait ends after the holder's
 *   time has. No clock of another machine, and no time in a record, is looked at.
 * - An answer of success is not the only proof that a renewal is in the store; the record itself is
 *   one. No two writes of a node say the same (their times of renewal differ), so a reading that
 *   shows what was asked at some time shows that very write: it was done after it was sent, nobody
 *   had written over it until it was read, and whoever does later waits as above. For that
 *   `pending` has what was asked without an answer, each with the time when it was sent. A write
 *   that is done after it was given up counts like any other, and from the same moment.
 * - Who gives it back has removed the address before it writes so. Then nobody waits.
 * - A record that is gone binds like one that has just changed: its holder may not know it yet.
 * - A record with this node's name is this node's only if it was written in this life of the agent
 *   (the time of acquisition tells), or if this kernel had the address when the agent began. Else
 *   it may be another machine's of the same name, and is waited out. After its time is over it is
 *   so still if it is pending: a store that hung does that late, and others wait for it.
 * - Who gives it back forgets what is pending: a release may be done later than any answer says,
 *   and from then on no earlier write is a right.
 *
 * Several nodes that may take an address do so in order of rank, `step_ms` apart, or PACE times as
 * long as the store takes to answer: so the first is heard of before the second asks. One that has
 * just come, and saw the record late, holds up the others for that and no longer. A node without a
 * rank gives it back. The holder renews after a third of the duration, or as much earlier as the
 * store's last write took. What fails is tried again after a pause (lease_pause.h) and a reading.
 *
 * A renewal can be sent when the one before is answered, and has to be answered before the kernel's
 * last whole second. So a store that takes longer for a write than lease_keepable_ms(), which is
 * somewhat less than half of that time, can't have the address kept: it would come and go, and
 * between its times everybody else would wait for a record that is renewed in vain. A node that
 * comes to have the right by so slow a write, or back after it had run out, gives it back, and asks
 * for it again after a pause.
 *
 * Times are of CLOCK_BOOTTIME: a machine that was suspended wakes up knowing how long. One whose
 * clock stood still with it has the address until its next renewal is refused. What was slept ends
 * rights, and is no waiting: lease_slept().
 *
 * Pure: time comes in, and what to ask of the store goes out.
 *
 * What versions can't tell: a store that forgets writes (etcd restored from a backup) has a node
 * take what another still has, if that node saw none of what was forgotten; and so has a person who
 * deletes the Lease of a holder while another node's creation is under way. What finds both is the
 * probe before an address is used.
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
    LEASE_RELEASE, /* the same: `desired` names nobody */
};

/* What is known of the record in the store. */
enum lease_sight {
    LEASE_UNKNOWN, /* never seen */
    LEASE_THERE,   /* `seen`, `version` */
    LEASE_ABSENT,
};

enum { LEASE_NO_RANK = -1 };

struct lease {
    struct lease_rules rules;
    const char *node;  /* borrowed: shorter than LEASE_HOLDER_MAX, not empty */
    int32_t rank;      /* 0: first; LEASE_NO_RANK: this node is not to have the address */
    int64_t ranked_ms; /* since when it has a rank */
    int64_t answer_ms; /* what the store takes to answer; 0: it is not known */
    bool installed;    /* the kernel has the address */

    enum lease_step asked; /* an answer is due to this; LEASE_WAIT: to nothing */
    int64_t asked_ms;
    struct lease_record desired; /* what was asked to be written */
    struct pending_writes pending;
    int64_t took_ms;       /* what the last write took, or for how long it was waited for */
    bool giving_back;      /* the store is too slow to keep it */
    int64_t slow_pause_ms; /* the last pause for that reason; 0: the store is quick enough */
    int64_t slow_until_ms; /* nothing is taken before */
    uint32_t random;       /* for pauses */
    int64_t pause_ms;      /* of the last failure; 0: the last attempt did not fail */
    int64_t not_before_ms; /* of the next attempt */

    enum lease_sight sight;
    bool stale; /* something else may be in the store by now: to be read before a write */
    struct lease_record seen;
    char version[LEASE_VERSION_MAX];
    int64_t changed_ms; /* when what is known was first seen so; absent: since when it was absent */
    int64_t there_ms;   /* the last time that it may have been there, by what was heard or lost */
    int64_t absent_ms;  /* when a reading said last that it is absent */
    int64_t bound_ms;   /* for how long that binds others than its holder, counted from then */

    int64_t acquired_wall_ms; /* of this node's lease in this life, as records say; 0: none */
    int64_t sure_ms;          /* until when none of this is forgotten; 0: there is nothing */
    bool renewed;             /* `renewed_ms` is a time */
    int64_t renewed_ms;       /* when the last write that is proved was sent */
    int64_t inherited_ms;     /* until when the kernel has it from an earlier life; 0: it has not */
};

/*
 * Begins without a rank and knowing nothing. `inherited_ms`: until when the kernel will have the
 * address, which an earlier life of this agent put there; 0 if it has not. `node` is borrowed.
 */
void lease_begin(struct lease *lease, const struct lease_rules *rules, const char *node,
                 int64_t inherited_ms);

/* Whether this node is to have it, and after how many others; LEASE_NO_RANK: no (more). */
void lease_rank(struct lease *lease, int32_t rank, int64_t now_ms);

/* How long the store takes to answer now: ranks are further apart while it is slow. */
void lease_pace(struct lease *lease, int64_t answer_ms);

/* A number drawn evenly: the next pause is somewhat shorter by it. */
void lease_draw(struct lease *lease, uint32_t random);

/* What the kernel has. Nothing is given back while it has the address. */
void lease_installed(struct lease *lease, bool installed);

/* Until when the kernel may have the address; it must not if that is over. 0: not at all. */
int64_t lease_until_ms(const struct lease *lease);

/*
 * The whole seconds of lifetime that an address may be given at this moment; 0: it has to go. It
 * ends before lease_until_ms(), but for the kernel's own lateness, which early_ms is for.
 */
uint32_t lease_lifetime_s(const struct lease *lease, int64_t now_ms);

/*
 * What is to be asked now, once; to be called after each event, and at lease_next_ms().
 * LEASE_WAIT while an answer is due or the time has not come. `wall_ms` is for people: it goes
 * into what is written.
 */
enum lease_step lease_next(struct lease *lease, int64_t now_ms, int64_t wall_ms);

/* When lease_next() has something to ask without an event; INT64_MAX: never. */
int64_t lease_next_ms(const struct lease *lease);

/*
 * For how long the answer to what was just asked is worth to be waited for. A renewal is given up
 * in time for another one; who has nothing to lose waits for as long as a right would last.
 */
int64_t lease_limit_ms(const struct lease *lease);

/*
 * What the last write took, where that is too long to keep the address and concerns nobody else; 0:
 * it is quick enough, another node has it still, or this one is not to have it.
 */
int64_t lease_slow_ms(const struct lease *lease, int64_t now_ms);

/*
 * When another's time by the record that is known is over, unless it is renewed; INT64_MAX where it
 * names nobody else.
 */
int64_t lease_others_end_ms(const struct lease *lease);

/* The clock has run ahead by so much, in which nothing could be heard. */
void lease_slept(struct lease *lease, int64_t slept_ms, int64_t now_ms);

/* The answers. One to nothing that was asked is ignored. */

void lease_saw(struct lease *lease, const struct lease_record *record, const char *version,
               int64_t now_ms);

/*
 * `since_ms`: since when every record of the store was seen to come and go, up to this answer and
 * without a gap, and this one was not there; `now_ms` if nobody watched, or the watch is behind.
 */
void lease_absent(struct lease *lease, int64_t since_ms, int64_t now_ms);

/* With the version that there was before, it is a failure. */
void lease_wrote(struct lease *lease, const char *version, int64_t now_ms);

/* In conflict, or without an answer: then it may have been done. */
void lease_failed(struct lease *lease, bool is_conflict, int64_t now_ms);
/* The store says no; `retry_after_ms`: as it asks for, 0: it does not. */
void lease_refused(struct lease *lease, int64_t retry_after_ms, int64_t now_ms);

/*
 * What a watch tells without being asked, perhaps late; `record` is NULL if it tells that there is
 * none. One who holds does not believe it, but looks itself.
 */
void lease_heard(struct lease *lease, const struct lease_record *record, const char *version,
                 int64_t now_ms);
