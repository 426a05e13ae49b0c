// SPDX-License-Identifier: Apache-2.0
/*
 * See tenure.h. What is to be asked is a function of the state, wanted_step(); events only change
 * the state. Whoever loses the right forgets that it ever had it, so that its own record binds it
 * like another's.
 */
#include "plan/claims/tenure.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "plan/claims/tenure_pause.h"

enum {
    PACE = 3,       /* to be written, to be told to all, and once more for what varies */
    SLACK_MS = 100, /* for the agent itself */
    SLOW_MOST = 4,  /* durations, between two attempts on a store that is too slow */
};

void tenure_begin(struct tenure *tenure, const struct tenure_rules *rules, const char *node,
                  int64_t inherited_ms)
{
    *tenure = (struct tenure){
        .rules = *rules,
        .node = node,
        .rank = TENURE_NO_RANK,
        .installed = inherited_ms != 0,
        .inherited_ms = inherited_ms,
        .sure_ms = inherited_ms ? inherited_ms + rules->early_ms : 0,
    };
}

void tenure_rank(struct tenure *tenure, int32_t rank, int64_t now_ms)
{
    if (tenure->rank < 0)
        tenure->ranked_ms = now_ms;
    tenure->rank = rank;
}

void tenure_pace(struct tenure *tenure, int64_t answer_ms)
{
    tenure->answer_ms = answer_ms;
}

void tenure_draw(struct tenure *tenure, uint32_t random)
{
    tenure->random = random;
}

void tenure_installed(struct tenure *tenure, bool installed)
{
    tenure->installed = installed;
}

/* ---- What this node may have ---- */

/* Whatever its rank. */
static int64_t right_ends_ms(const struct tenure *tenure)
{
    const struct tenure_rules *rules = &tenure->rules;
    int64_t own = tenure->renewed ? tenure->renewed_ms + rules->duration_ms - rules->early_ms : 0;
    return MAX(own, tenure->inherited_ms);
}

int64_t tenure_until_ms(const struct tenure *tenure)
{
    return tenure->rank < 0 || tenure->giving_back ? 0 : right_ends_ms(tenure);
}

uint32_t tenure_lifetime_s(const struct tenure *tenure, int64_t now_ms)
{
    int64_t left_ms = tenure_until_ms(tenure) - now_ms;
    return left_ms < SECOND_MS ? 0 : (uint32_t)(left_ms / SECOND_MS);
}

/* Whether a record is of this node's tenure in this life. */
static bool is_own(const struct tenure *tenure, const struct lease_record *record)
{
    return tenure->acquired_wall_ms != 0 && tenure->acquired_wall_ms == record->acquired_wall_ms &&
           strcmp(record->holder, tenure->node) == 0;
}

static bool is_mine(const struct tenure *tenure)
{
    return tenure->sight == TENURE_THERE && is_own(tenure, &tenure->seen);
}

static void lose(struct tenure *tenure)
{
    tenure->giving_back = false;
    tenure->acquired_wall_ms = 0;
    tenure->renewed = false;
    tenure->inherited_ms = 0;
    tenure->sure_ms = 0;
}

/* When others may have taken it, what the store says need not be of this life: see the header. */
static void forget_overdue(struct tenure *tenure, int64_t now_ms)
{
    if (tenure->sure_ms != 0 && now_ms >= tenure->sure_ms)
        lose(tenure);
}

void tenure_slept(struct tenure *tenure, int64_t slept_ms, int64_t now_ms)
{
    if (!is_mine(tenure)) /* else there is nobody to wait for */
        tenure->changed_ms = MIN(tenure->changed_ms + slept_ms, now_ms);
    tenure->there_ms = MIN(tenure->there_ms + slept_ms, now_ms);
}

/* ---- What the store has ---- */

/*
 * What a write took, before its outcome counts. Whoever has the address with time to spare keeps
 * it, once or twice; whoever has not would lose it before the next write is answered.
 */
static void judge_pace(struct tenure *tenure, int64_t took_ms, int64_t now_ms)
{
    const int64_t duration_ms = tenure->rules.duration_ms;
    tenure->took_ms = took_ms;
    if (took_ms < tenure_keepable_ms(&tenure->rules)) {
        tenure->giving_back = false;
        tenure->slow_pause_ms = 0;
        tenure->slow_until_ms = 0;
        return;
    }
    if (right_ends_ms(tenure) - now_ms >= SECOND_MS)
        return;
    tenure->giving_back = true;
    if (now_ms < tenure->slow_until_ms)
        return;
    tenure->slow_pause_ms =
        MIN(MAX(2 * tenure->slow_pause_ms, duration_ms), SLOW_MOST * duration_ms);
    tenure->slow_until_ms = now_ms + tenure->slow_pause_ms;
}

/* A write of this node is in the store: nobody else has written since. */
static void count_from(struct tenure *tenure, int64_t sent_ms)
{
    tenure->renewed_ms = tenure->renewed ? MAX(tenure->renewed_ms, sent_ms) : sent_ms;
    tenure->renewed = true;
}

/* The record is one that was asked for, and whose answer never came. */
static void take_up(struct tenure *tenure, int64_t now_ms)
{
    const struct pending_write *write = pending_writes_find(&tenure->pending, &tenure->seen);
    if (!write)
        return;
    bool is_newest = write == tenure->pending.items;
    judge_pace(tenure, is_newest ? now_ms - write->sent_ms : tenure->took_ms, now_ms);
    count_from(tenure, write->sent_ms);
    tenure->acquired_wall_ms = tenure->seen.acquired_wall_ms;
    tenure->sure_ms = now_ms + tenure->rules.duration_ms;
}

/* What this kernel has was given to it by the record that is there still. */
static void inherit(struct tenure *tenure, int64_t now_ms)
{
    if (tenure->acquired_wall_ms != 0 || now_ms >= tenure->inherited_ms ||
        strcmp(tenure->seen.holder, tenure->node) != 0)
        return;
    tenure->acquired_wall_ms = tenure->seen.acquired_wall_ms;
}

static void note_there(struct tenure *tenure, const struct lease_record *record,
                       const char *version, int64_t now_ms)
{
    bool changed = tenure->sight != TENURE_THERE || strcmp(tenure->version, version) != 0 ||
                   !lease_record_eq(&tenure->seen, record);
    tenure->sight = TENURE_THERE;
    tenure->seen = *record;
    (void)snprintf(tenure->version, sizeof(tenure->version), "%s", version);
    if (changed) {
        take_up(tenure, now_ms);
        tenure->pending = (struct pending_writes){ 0 };
        tenure->changed_ms = now_ms;
        tenure->bound_ms =
            record->duration_s > 0 ? record->duration_s * SECOND_MS : tenure->rules.duration_ms;
        tenure->pause_ms = 0;
    }
    inherit(tenure, now_ms);
    if (!is_mine(tenure))
        lose(tenure);
}

/* Who has the address keeps it while its right lasts, and makes the record anew. */
static void note_absent(struct tenure *tenure, int64_t since_ms, int64_t now_ms)
{
    bool was_there = tenure->sight == TENURE_THERE;
    int64_t gone_ms = was_there ? now_ms : MAX(since_ms, tenure->there_ms);
    tenure->changed_ms =
        tenure->sight == TENURE_ABSENT ? MAX(tenure->changed_ms, gone_ms) : gone_ms;
    tenure->bound_ms = MAX(tenure->bound_ms, tenure->rules.duration_ms);
    tenure->sight = TENURE_ABSENT;
    tenure->version[0] = '\0';
    if (tenure->giving_back)
        lose(tenure);
    tenure->acquired_wall_ms = 0;
    tenure->sure_ms = right_ends_ms(tenure);
}

static int64_t step_of(const struct tenure *tenure)
{
    const struct tenure_rules *rules = &tenure->rules;
    return MIN(MAX(PACE * tenure->answer_ms, rules->step_ms), rules->step_most_ms);
}

/* When others than its holder may write; in the order of ranks. */
static int64_t free_ms(const struct tenure *tenure)
{
    int64_t free = tenure->changed_ms;
    if (tenure->sight == TENURE_ABSENT && right_ends_ms(tenure) > tenure->changed_ms)
        return free; /* it was there while this node had the right */
    if (tenure->sight == TENURE_ABSENT || tenure->seen.holder[0])
        free += tenure->bound_ms + tenure->rules.late_ms;
    return MAX(free, tenure->ranked_ms) + tenure->rank * step_of(tenure);
}

int64_t tenure_others_end_ms(const struct tenure *tenure)
{
    const char *holder = tenure->seen.holder;
    if (tenure->sight != TENURE_THERE || !holder[0] || strcmp(holder, tenure->node) == 0)
        return INT64_MAX;
    return tenure->changed_ms + tenure->bound_ms + tenure->rules.late_ms;
}

int64_t tenure_slow_ms(const struct tenure *tenure, int64_t now_ms)
{
    const int64_t others_end_ms = tenure_others_end_ms(tenure);
    if (others_end_ms != INT64_MAX && now_ms < others_end_ms)
        return 0;
    if (tenure->rank < 0 && tenure->acquired_wall_ms == 0)
        return 0;
    return tenure->took_ms < tenure_keepable_ms(&tenure->rules) ? 0 : tenure->took_ms;
}

/* ---- What to ask ---- */

/* Early enough for an answer as late as it may be, or as the last one was and somewhat more. */
static int64_t renewal_ms(const struct tenure *tenure)
{
    const struct tenure_rules *rules = &tenure->rules;
    int64_t answer_ms = MAX(tenure_keepable_ms(rules) + SLACK_MS, tenure->took_ms * 5 / 4);
    int64_t spare_ms = tenure_useful_ms(rules) - answer_ms;
    return tenure->renewed_ms + MIN(rules->duration_ms / 3, MAX(spare_ms, 0));
}

static enum tenure_step holders_step(const struct tenure *tenure, int64_t *ret_due_ms)
{
    bool gives_back = tenure->rank < 0 || tenure->giving_back;
    if ((gives_back && tenure->installed) || tenure->seen.coordinated)
        return TENURE_WAIT;
    if (tenure->stale)
        return TENURE_READ;
    if (gives_back)
        return TENURE_RELEASE;
    if (tenure->renewed)
        *ret_due_ms = renewal_ms(tenure);
    return TENURE_UPDATE;
}

/* The step, and from when on; TENURE_WAIT: none without an event. */
static enum tenure_step wanted_step(const struct tenure *tenure, int64_t *ret_due_ms)
{
    *ret_due_ms = 0;
    if (is_mine(tenure))
        return holders_step(tenure, ret_due_ms);
    /* A write whose answer was lost may have taken what is not wanted any more. */
    bool maybe_mine = tenure->acquired_wall_ms != 0;
    if (tenure->rank < 0 && !maybe_mine)
        return TENURE_WAIT;
    if (tenure->sight == TENURE_UNKNOWN || tenure->stale)
        return TENURE_READ;
    if (tenure->rank < 0 || (tenure->sight == TENURE_THERE && tenure->seen.coordinated))
        return TENURE_WAIT;
    *ret_due_ms = MAX(free_ms(tenure), tenure->slow_until_ms);
    return tenure->sight == TENURE_ABSENT ? TENURE_CREATE : TENURE_UPDATE;
}

/* The record of a new tenure, or of the one that is there. */
static void make_wish(struct tenure *tenure, int64_t now_ms, int64_t wall_ms)
{
    bool mine = is_mine(tenure), there = tenure->sight == TENURE_THERE;
    bool is_known = there && strcmp(tenure->seen.holder, tenure->node) == 0;
    if (!mine) {
        tenure->acquired_wall_ms = wall_ms;
        if (tenure->sure_ms == 0)
            tenure->sure_ms = now_ms + tenure->rules.duration_ms;
    }
    tenure->wish = (struct lease_record){
        .duration_s = tenure->rules.duration_ms / SECOND_MS,
        .acquired_wall_ms = tenure->acquired_wall_ms,
        .renewed_wall_ms =
            pending_writes_distinct_wall_ms(&tenure->pending, &tenure->seen, wall_ms),
        .transitions = there ? tenure->seen.transitions + (is_known ? 0 : 1) : 0,
    };
    (void)snprintf(tenure->wish.holder, sizeof(tenure->wish.holder), "%s", tenure->node);
    pending_writes_note(&tenure->pending, &tenure->wish, now_ms);
}

/* From here on another may have it, whatever this node wants next. */
static void make_release(struct tenure *tenure, int64_t wall_ms)
{
    tenure->renewed = false;
    tenure->pending = (struct pending_writes){ 0 };
    tenure->inherited_ms = 0;
    tenure->wish = (struct lease_record){
        .duration_s = 1,
        .acquired_wall_ms = wall_ms,
        .renewed_wall_ms = wall_ms,
        .transitions = tenure->seen.transitions,
    };
}

enum tenure_step tenure_next(struct tenure *tenure, int64_t now_ms, int64_t wall_ms)
{
    int64_t due_ms;
    if (tenure->asked != TENURE_WAIT)
        return TENURE_WAIT;
    forget_overdue(tenure, now_ms);
    enum tenure_step step = wanted_step(tenure, &due_ms);
    if (now_ms < MAX(due_ms, tenure->not_before_ms))
        return TENURE_WAIT;
    if (step == TENURE_CREATE && now_ms - tenure->absent_ms >= tenure->rules.retry_ms)
        step = TENURE_READ; /* it may have come and gone since */
    if (step == TENURE_READ)
        tenure->stale = false; /* unless something is heard meanwhile */
    else if (step == TENURE_RELEASE)
        make_release(tenure, wall_ms);
    else if (step != TENURE_WAIT)
        make_wish(tenure, now_ms, wall_ms);
    tenure->asked = step;
    tenure->asked_ms = now_ms;
    return step;
}

int64_t tenure_limit_ms(const struct tenure *tenure)
{
    const struct tenure_rules *rules = &tenure->rules;
    int64_t keepable_ms = tenure_keepable_ms(rules);
    int64_t left_ms = right_ends_ms(tenure) - tenure->asked_ms - SECOND_MS;
    if (tenure->asked == TENURE_READ || left_ms >= keepable_ms)
        return keepable_ms;
    return rules->duration_ms - rules->early_ms;
}

int64_t tenure_next_ms(const struct tenure *tenure)
{
    int64_t due_ms;
    if (tenure->asked != TENURE_WAIT || wanted_step(tenure, &due_ms) == TENURE_WAIT)
        return INT64_MAX;
    return MAX(due_ms, tenure->not_before_ms);
}

/* ---- Answers ---- */

void tenure_saw(struct tenure *tenure, const struct lease_record *record, const char *version,
                int64_t now_ms)
{
    if (tenure->asked != TENURE_READ)
        return;
    tenure->asked = TENURE_WAIT;
    forget_overdue(tenure, now_ms);
    note_there(tenure, record, version, now_ms);
}

void tenure_absent(struct tenure *tenure, int64_t since_ms, int64_t now_ms)
{
    if (tenure->asked != TENURE_READ)
        return;
    tenure->asked = TENURE_WAIT;
    tenure->absent_ms = now_ms;
    note_absent(tenure, since_ms, now_ms);
}

/* What fails at once says nothing of the store's pace, be it without an answer or by a conflict. */
static void note_failed_write(struct tenure *tenure, bool is_conflict, int64_t now_ms)
{
    const int64_t keepable_ms = tenure_keepable_ms(&tenure->rules);
    int64_t took_ms = now_ms - tenure->asked_ms;
    bool given_up = !is_conflict && took_ms + SLACK_MS >= keepable_ms;
    tenure->there_ms = now_ms;
    if (given_up || (is_conflict && took_ms >= keepable_ms))
        judge_pace(tenure, given_up ? MAX(took_ms, keepable_ms) : took_ms, now_ms);
    if (is_conflict && tenure->asked != TENURE_RELEASE)
        pending_writes_drop_newest(&tenure->pending);
}

static void fail(struct tenure *tenure, const struct tenure_failure *failure, int64_t now_ms)
{
    if (tenure->asked == TENURE_WAIT)
        return;
    if (tenure->asked != TENURE_READ)
        note_failed_write(tenure, failure->kind == TENURE_CONFLICT, now_ms);
    tenure->asked = TENURE_WAIT;
    tenure->stale = true;
    tenure->not_before_ms =
        now_ms + tenure_pause(tenure, failure, right_ends_ms(tenure) - now_ms, &tenure->pause_ms);
}

void tenure_wrote(struct tenure *tenure, const char *version, int64_t now_ms)
{
    if (tenure->asked == TENURE_WAIT || tenure->asked == TENURE_READ)
        return;
    if (strcmp(tenure->version, version) == 0) {
        /* Others have seen no renewal. */
        const struct tenure_failure failure = { .kind = TENURE_UNSTORED };
        fail(tenure, &failure, now_ms);
        return;
    }
    /* No write is asked for while stale: what is so by now was heard since, and has to be read. */
    tenure->asked = TENURE_WAIT;
    tenure->pause_ms = 0;
    tenure->not_before_ms = now_ms;
    judge_pace(tenure, now_ms - tenure->asked_ms, now_ms);
    tenure->pending = (struct pending_writes){ 0 };
    count_from(tenure, tenure->asked_ms);
    tenure->inherited_ms = 0;
    tenure->sure_ms = tenure->asked_ms + tenure->rules.duration_ms;
    note_there(tenure, &tenure->wish, version, now_ms);
}

void tenure_failed(struct tenure *tenure, bool is_conflict, int64_t now_ms)
{
    const struct tenure_failure failure = {
        .kind = is_conflict ? TENURE_CONFLICT : TENURE_UNANSWERED,
    };
    fail(tenure, &failure, now_ms);
}

void tenure_refused(struct tenure *tenure, int64_t retry_after_ms, int64_t now_ms)
{
    const struct tenure_failure failure = { TENURE_REFUSED, retry_after_ms };
    fail(tenure, &failure, now_ms);
}

void tenure_heard(struct tenure *tenure, const struct lease_record *record, const char *version,
                  int64_t now_ms)
{
    bool concerned = tenure->asked != TENURE_WAIT || tenure->acquired_wall_ms != 0 ||
                     right_ends_ms(tenure) > now_ms;
    if (record)
        tenure->there_ms = now_ms;
    if (concerned) {
        bool known = record && (strcmp(version, tenure->version) == 0 || is_own(tenure, record));
        tenure->stale = tenure->stale || !known;
    } else if (record) {
        note_there(tenure, record, version, now_ms);
    } else {
        note_absent(tenure, now_ms, now_ms);
    }
}
