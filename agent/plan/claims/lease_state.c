// SPDX-License-Identifier: Apache-2.0
/*
 * See lease_state.h. The next request is a function of the state, wanted_step(); events only change
 * the state. A node that loses the lease clears its own state of it, so that it waits for its own
 * record as for another's.
 */
#include "plan/claims/lease_state.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "plan/claims/lease_pause.h"

enum {
    PACE = 3,       /* one to write, one to notify all nodes, and one for variation */
    SLACK_MS = 100, /* for the agent itself */
    SLOW_MOST = 4,  /* durations, between two attempts with a store that is too slow */
};

void lease_begin(struct lease *lease, const struct lease_rules *rules, const char *node,
                 int64_t inherited_ms)
{
    *lease = (struct lease){
        .rules = *rules,
        .node = node,
        .rank = LEASE_NO_RANK,
        .installed = inherited_ms != 0,
        .inherited_ms = inherited_ms,
        .sure_ms = inherited_ms ? inherited_ms + rules->early_ms : 0,
    };
}

void lease_rank(struct lease *lease, int32_t rank, int64_t now_ms)
{
    if (lease->rank < 0)
        lease->ranked_ms = now_ms;
    lease->rank = rank;
}

void lease_pace(struct lease *lease, int64_t answer_ms)
{
    lease->answer_ms = answer_ms;
}

void lease_draw(struct lease *lease, uint32_t random)
{
    lease->random = random;
}

void lease_installed(struct lease *lease, bool installed)
{
    lease->installed = installed;
}

/* ---- What this node may have ---- */

/* Whatever its rank. */
static int64_t right_ends_ms(const struct lease *lease)
{
    const struct lease_rules *rules = &lease->rules;
    int64_t own = lease->renewed ? lease->renewed_ms + rules->duration_ms - rules->early_ms : 0;
    return MAX(own, lease->inherited_ms);
}

int64_t lease_until_ms(const struct lease *lease)
{
    return lease->rank < 0 || lease->giving_back ? 0 : right_ends_ms(lease);
}

uint32_t lease_lifetime_s(const struct lease *lease, int64_t now_ms)
{
    int64_t left_ms = lease_until_ms(lease) - now_ms;
    return left_ms < SECOND_MS ? 0 : (uint32_t)(left_ms / SECOND_MS);
}

/* Whether a record is of this node's lease in this run. */
static bool is_own(const struct lease *lease, const struct lease_record *record)
{
    return lease->acquired_wall_ms != 0 && lease->acquired_wall_ms == record->acquired_wall_ms &&
           strcmp(record->holder, lease->node) == 0;
}

static bool is_mine(const struct lease *lease)
{
    return lease->sight == LEASE_THERE && is_own(lease, &lease->seen);
}

static void lose(struct lease *lease)
{
    lease->giving_back = false;
    lease->acquired_wall_ms = 0;
    lease->renewed = false;
    lease->inherited_ms = 0;
    lease->sure_ms = 0;
}

/*
 * After the time when others may acquire it, the store's record need not be of this run: see the
 * header.
 */
static void forget_overdue(struct lease *lease, int64_t now_ms)
{
    if (lease->sure_ms != 0 && now_ms >= lease->sure_ms)
        lose(lease);
}

void lease_slept(struct lease *lease, int64_t slept_ms, int64_t now_ms)
{
    if (!is_mine(lease)) /* else there is no other holder to wait for */
        lease->changed_ms = MIN(lease->changed_ms + slept_ms, now_ms);
    lease->there_ms = MIN(lease->there_ms + slept_ms, now_ms);
}

/* ---- The record in the store ---- */

/*
 * Checks the duration of a write, before its result is used. A node that has the address with time
 * left keeps it, once or twice; otherwise it would lose the address before the next write is done.
 */
static void judge_pace(struct lease *lease, int64_t took_ms, int64_t now_ms)
{
    const int64_t duration_ms = lease->rules.duration_ms;
    lease->took_ms = took_ms;
    if (took_ms < lease_keepable_ms(&lease->rules)) {
        lease->giving_back = false;
        lease->slow_pause_ms = 0;
        lease->slow_until_ms = 0;
        return;
    }
    if (right_ends_ms(lease) - now_ms >= SECOND_MS)
        return;
    lease->giving_back = true;
    if (now_ms < lease->slow_until_ms)
        return;
    lease->slow_pause_ms = MIN(MAX(2 * lease->slow_pause_ms, duration_ms), SLOW_MOST * duration_ms);
    lease->slow_until_ms = now_ms + lease->slow_pause_ms;
}

/* A write of this node is in the store: there was no other write since. */
static void count_from(struct lease *lease, int64_t sent_ms)
{
    lease->renewed_ms = lease->renewed ? MAX(lease->renewed_ms, sent_ms) : sent_ms;
    lease->renewed = true;
}

/* The record is that of a request without a response. */
static void take_up(struct lease *lease, int64_t now_ms)
{
    const struct pending_write *write = pending_writes_find(&lease->pending, &lease->seen);
    if (!write)
        return;
    bool is_newest = write == lease->pending.items;
    judge_pace(lease, is_newest ? now_ms - write->sent_ms : lease->took_ms, now_ms);
    count_from(lease, write->sent_ms);
    lease->acquired_wall_ms = lease->seen.acquired_wall_ms;
    lease->sure_ms = now_ms + lease->rules.duration_ms;
}

/* The kernel's address belongs to the record that still exists. */
static void inherit(struct lease *lease, int64_t now_ms)
{
    if (lease->acquired_wall_ms != 0 || now_ms >= lease->inherited_ms ||
        strcmp(lease->seen.holder, lease->node) != 0)
        return;
    lease->acquired_wall_ms = lease->seen.acquired_wall_ms;
}

static void note_there(struct lease *lease, const struct lease_record *record, const char *version,
                       int64_t now_ms)
{
    bool changed = lease->sight != LEASE_THERE || strcmp(lease->version, version) != 0 ||
                   !lease_record_eq(&lease->seen, record);
    lease->sight = LEASE_THERE;
    lease->seen = *record;
    (void)snprintf(lease->version, sizeof(lease->version), "%s", version);
    if (changed) {
        take_up(lease, now_ms);
        lease->pending = (struct pending_writes){ 0 };
        lease->changed_ms = now_ms;
        lease->bound_ms =
            record->duration_s > 0 ? record->duration_s * SECOND_MS : lease->rules.duration_ms;
        lease->pause_ms = 0;
    }
    inherit(lease, now_ms);
    if (!is_mine(lease))
        lose(lease);
}

/* A holder keeps the address while its lease lasts, and creates the record again. */
static void note_absent(struct lease *lease, int64_t since_ms, int64_t now_ms)
{
    bool was_there = lease->sight == LEASE_THERE;
    int64_t gone_ms = was_there ? now_ms : MAX(since_ms, lease->there_ms);
    lease->changed_ms = lease->sight == LEASE_ABSENT ? MAX(lease->changed_ms, gone_ms) : gone_ms;
    lease->bound_ms = MAX(lease->bound_ms, lease->rules.duration_ms);
    lease->sight = LEASE_ABSENT;
    lease->version[0] = '\0';
    if (lease->giving_back)
        lose(lease);
    lease->acquired_wall_ms = 0;
    lease->sure_ms = right_ends_ms(lease);
}

static int64_t step_of(const struct lease *lease)
{
    const struct lease_rules *rules = &lease->rules;
    return MIN(MAX(PACE * lease->answer_ms, rules->step_ms), rules->step_most_ms);
}

/* When other nodes than its holder may write, in the order of ranks. */
static int64_t free_ms(const struct lease *lease)
{
    int64_t free = lease->changed_ms;
    if (lease->sight == LEASE_ABSENT && right_ends_ms(lease) > lease->changed_ms)
        return free; /* it existed while this node held the lease */
    if (lease->sight == LEASE_ABSENT || lease->seen.holder[0])
        free += lease->bound_ms + lease->rules.late_ms;
    return MAX(free, lease->ranked_ms) + lease->rank * step_of(lease);
}

int64_t lease_others_end_ms(const struct lease *lease)
{
    const char *holder = lease->seen.holder;
    if (lease->sight != LEASE_THERE || !holder[0] || strcmp(holder, lease->node) == 0)
        return INT64_MAX;
    return lease->changed_ms + lease->bound_ms + lease->rules.late_ms;
}

int64_t lease_slow_ms(const struct lease *lease, int64_t now_ms)
{
    const int64_t others_end_ms = lease_others_end_ms(lease);
    if (others_end_ms != INT64_MAX && now_ms < others_end_ms)
        return 0;
    if (lease->rank < 0 && lease->acquired_wall_ms == 0)
        return 0;
    return lease->took_ms < lease_keepable_ms(&lease->rules) ? 0 : lease->took_ms;
}

/* ---- Requests ---- */

/* Early enough for the latest useful response, or for the last response time plus a margin. */
static int64_t renewal_ms(const struct lease *lease)
{
    const struct lease_rules *rules = &lease->rules;
    int64_t answer_ms = MAX(lease_keepable_ms(rules) + SLACK_MS, lease->took_ms * 5 / 4);
    int64_t spare_ms = lease_useful_ms(rules) - answer_ms;
    return lease->renewed_ms + MIN(rules->duration_ms / 3, MAX(spare_ms, 0));
}

static enum lease_step holders_step(const struct lease *lease, int64_t *ret_due_ms)
{
    bool gives_back = lease->rank < 0 || lease->giving_back;
    if ((gives_back && lease->installed) || lease->seen.coordinated)
        return LEASE_WAIT;
    if (lease->stale)
        return LEASE_READ;
    if (gives_back)
        return LEASE_RELEASE;
    if (lease->renewed)
        *ret_due_ms = renewal_ms(lease);
    return LEASE_UPDATE;
}

/* The next step, and its earliest time; LEASE_WAIT: none without an event. */
static enum lease_step wanted_step(const struct lease *lease, int64_t *ret_due_ms)
{
    *ret_due_ms = 0;
    if (is_mine(lease))
        return holders_step(lease, ret_due_ms);
    /* A write without a response may have acquired a lease that is no longer wanted. */
    bool maybe_mine = lease->acquired_wall_ms != 0;
    if (lease->rank < 0 && !maybe_mine)
        return LEASE_WAIT;
    if (lease->sight == LEASE_UNKNOWN || lease->stale)
        return LEASE_READ;
    if (lease->rank < 0 || (lease->sight == LEASE_THERE && lease->seen.coordinated))
        return LEASE_WAIT;
    *ret_due_ms = MAX(free_ms(lease), lease->slow_until_ms);
    return lease->sight == LEASE_ABSENT ? LEASE_CREATE : LEASE_UPDATE;
}

/* The record of a new lease, or of the existing one. */
static void make_desired(struct lease *lease, int64_t now_ms, int64_t wall_ms)
{
    bool mine = is_mine(lease), there = lease->sight == LEASE_THERE;
    bool is_known = there && strcmp(lease->seen.holder, lease->node) == 0;
    if (!mine) {
        lease->acquired_wall_ms = wall_ms;
        if (lease->sure_ms == 0)
            lease->sure_ms = now_ms + lease->rules.duration_ms;
    }
    lease->desired = (struct lease_record){
        .duration_s = lease->rules.duration_ms / SECOND_MS,
        .acquired_wall_ms = lease->acquired_wall_ms,
        .renewed_wall_ms = pending_writes_distinct_wall_ms(&lease->pending, &lease->seen, wall_ms),
        .transitions = there ? lease->seen.transitions + (is_known ? 0 : 1) : 0,
    };
    (void)snprintf(lease->desired.holder, sizeof(lease->desired.holder), "%s", lease->node);
    pending_writes_note(&lease->pending, &lease->desired, now_ms);
}

/* From now on another node may acquire it, whatever this node wants next. */
static void make_release(struct lease *lease, int64_t wall_ms)
{
    lease->renewed = false;
    lease->pending = (struct pending_writes){ 0 };
    lease->inherited_ms = 0;
    lease->desired = (struct lease_record){
        .duration_s = 1,
        .acquired_wall_ms = wall_ms,
        .renewed_wall_ms = wall_ms,
        .transitions = lease->seen.transitions,
    };
}

enum lease_step lease_next(struct lease *lease, int64_t now_ms, int64_t wall_ms)
{
    int64_t due_ms;
    if (lease->asked != LEASE_WAIT)
        return LEASE_WAIT;
    forget_overdue(lease, now_ms);
    enum lease_step step = wanted_step(lease, &due_ms);
    if (now_ms < MAX(due_ms, lease->not_before_ms))
        return LEASE_WAIT;
    if (step == LEASE_CREATE && now_ms - lease->absent_ms >= lease->rules.retry_ms)
        step = LEASE_READ; /* it may have been created and deleted since */
    if (step == LEASE_READ)
        lease->stale = false; /* unless an event arrives meanwhile */
    else if (step == LEASE_RELEASE)
        make_release(lease, wall_ms);
    else if (step != LEASE_WAIT)
        make_desired(lease, now_ms, wall_ms);
    lease->asked = step;
    lease->asked_ms = now_ms;
    return step;
}

int64_t lease_limit_ms(const struct lease *lease)
{
    const struct lease_rules *rules = &lease->rules;
    int64_t keepable_ms = lease_keepable_ms(rules);
    int64_t left_ms = right_ends_ms(lease) - lease->asked_ms - SECOND_MS;
    if (lease->asked == LEASE_READ || left_ms >= keepable_ms)
        return keepable_ms;
    return rules->duration_ms - rules->early_ms;
}

int64_t lease_next_ms(const struct lease *lease)
{
    int64_t due_ms;
    if (lease->asked != LEASE_WAIT || wanted_step(lease, &due_ms) == LEASE_WAIT)
        return INT64_MAX;
    return MAX(due_ms, lease->not_before_ms);
}

/* ---- Responses ---- */

void lease_saw(struct lease *lease, const struct lease_record *record, const char *version,
               int64_t now_ms)
{
    if (lease->asked != LEASE_READ)
        return;
    lease->asked = LEASE_WAIT;
    forget_overdue(lease, now_ms);
    note_there(lease, record, version, now_ms);
}

void lease_absent(struct lease *lease, int64_t since_ms, int64_t now_ms)
{
    if (lease->asked != LEASE_READ)
        return;
    lease->asked = LEASE_WAIT;
    lease->absent_ms = now_ms;
    note_absent(lease, since_ms, now_ms);
}

/*
 * A write that fails at once, by a conflict or without a response, does not measure the store's
 * response time.
 */
static void note_failed_write(struct lease *lease, bool is_conflict, int64_t now_ms)
{
    const int64_t keepable_ms = lease_keepable_ms(&lease->rules);
    int64_t took_ms = now_ms - lease->asked_ms;
    bool given_up = !is_conflict && took_ms + SLACK_MS >= keepable_ms;
    lease->there_ms = now_ms;
    if (given_up || (is_conflict && took_ms >= keepable_ms))
        judge_pace(lease, given_up ? MAX(took_ms, keepable_ms) : took_ms, now_ms);
    if (is_conflict && lease->asked != LEASE_RELEASE)
        pending_writes_drop_newest(&lease->pending);
}

static void fail(struct lease *lease, const struct lease_failure *failure, int64_t now_ms)
{
    if (lease->asked == LEASE_WAIT)
        return;
    if (lease->asked != LEASE_READ)
        note_failed_write(lease, failure->kind == LEASE_CONFLICT, now_ms);
    lease->asked = LEASE_WAIT;
    lease->stale = true;
    lease->not_before_ms =
        now_ms + lease_pause(lease, failure, right_ends_ms(lease) - now_ms, &lease->pause_ms);
}

void lease_wrote(struct lease *lease, const char *version, int64_t now_ms)
{
    if (lease->asked == LEASE_WAIT || lease->asked == LEASE_READ)
        return;
    if (strcmp(lease->version, version) == 0) {
        /* Other nodes have seen no renewal. */
        const struct lease_failure failure = { .kind = LEASE_UNSTORED };
        fail(lease, &failure, now_ms);
        return;
    }
    /*
     * No write is requested while stale: an event arrived since then, and the record must be read.
     */
    lease->asked = LEASE_WAIT;
    lease->pause_ms = 0;
    lease->not_before_ms = now_ms;
    judge_pace(lease, now_ms - lease->asked_ms, now_ms);
    lease->pending = (struct pending_writes){ 0 };
    count_from(lease, lease->asked_ms);
    lease->inherited_ms = 0;
    lease->sure_ms = lease->asked_ms + lease->rules.duration_ms;
    note_there(lease, &lease->desired, version, now_ms);
}

void lease_failed(struct lease *lease, bool is_conflict, int64_t now_ms)
{
    const struct lease_failure failure = {
        .kind = is_conflict ? LEASE_CONFLICT : LEASE_UNANSWERED,
    };
    fail(lease, &failure, now_ms);
}

void lease_refused(struct lease *lease, int64_t retry_after_ms, int64_t now_ms)
{
    const struct lease_failure failure = { LEASE_REFUSED, retry_after_ms };
    fail(lease, &failure, now_ms);
}

void lease_heard(struct lease *lease, const struct lease_record *record, const char *version,
                 int64_t now_ms)
{
    bool concerned =
        lease->asked != LEASE_WAIT || lease->acquired_wall_ms != 0 || right_ends_ms(lease) > now_ms;
    if (record)
        lease->there_ms = now_ms;
    if (concerned) {
        bool known = record && (strcmp(version, lease->version) == 0 || is_own(lease, record));
        lease->stale = lease->stale || !known;
    } else if (record) {
        note_there(lease, record, version, now_ms);
    } else {
        note_absent(lease, now_ms, now_ms);
    }
}
