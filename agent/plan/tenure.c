// SPDX-License-Identifier: Apache-2.0
/*
 * See tenure.h. What is to be asked is a function of the state, wanted_step(); events only change
 * the state. Whoever loses the right forgets that it ever had it, so that its own record binds it
 * like another's.
 */
#include "plan/tenure.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"

enum {
    SHORTEST_MS =
        4000, /* below, a third of it and a kernel's whole second leave no time to renew */
    LONGEST_MS = 300000,
    CONFLICT_MS = 1,     /* the pause after a first conflict: a reading says what there is */
    PACE = 3,            /* to be written, to be told to all, and once more for what varies */
    RETRY_MOST_MS = 700, /* with a probe after it, an address is back a second after the store */
};

const struct tenure_rules tenure_rules_default = {
    .duration_ms = 10000,
    .early_ms = 1000,
    .late_ms = 250,
    .step_ms = 40,
    .step_most_ms = 250,
    .retry_ms = 250,
};

const char *tenure_rules_error(const struct tenure_rules *rules)
{
    if (rules->duration_ms < SHORTEST_MS || rules->duration_ms > LONGEST_MS)
        return "the duration of a claim must be between 4 s and 5 min";
    if (rules->duration_ms % SECOND_MS != 0)
        return "the duration of a claim must be whole seconds: a Lease counts in these";
    if (rules->early_ms < SECOND_MS || rules->early_ms > rules->duration_ms / 4)
        return "an address must be gone at least 1 s before its claim ends, and at most a quarter";
    if (rules->late_ms < 0 || rules->step_ms < 0 || rules->retry_ms < 1)
        return "times must not be negative";
    if (rules->step_most_ms < rules->step_ms)
        return "ranks can't be further apart than they may be";
    return NULL;
}

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
    return tenure->rank < 0 ? 0 : right_ends_ms(tenure);
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
    if (tenure->unanswered)
        tenure->late = tenure->wish;
    tenure->unanswered = false;
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

/* A write whose answer never came is there: nobody else has written since. */
static void take_up(struct tenure *tenure, int64_t now_ms)
{
    if (!tenure->late.holder[0] || !lease_record_eq(&tenure->seen, &tenure->late))
        return;
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
        tenure->late.holder[0] = '\0';
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

/* ---- What to ask ---- */

static enum tenure_step holders_step(const struct tenure *tenure, int64_t *ret_due_ms)
{
    if ((tenure->rank < 0 && tenure->installed) || tenure->seen.coordinated)
        return TENURE_WAIT;
    if (tenure->stale)
        return TENURE_READ;
    if (tenure->rank < 0)
        return TENURE_RELEASE;
    if (tenure->renewed)
        *ret_due_ms = tenure->renewed_ms + tenure->rules.duration_ms / 3;
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
    *ret_due_ms = free_ms(tenure);
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
        .renewed_wall_ms = wall_ms,
        .transitions = there ? tenure->seen.transitions + (is_known ? 0 : 1) : 0,
    };
    (void)snprintf(tenure->wish.holder, sizeof(tenure->wish.holder), "%s", tenure->node);
    tenure->unanswered = true;
}

/* From here on another may have it, whatever this node wants next. */
static void make_release(struct tenure *tenure, int64_t wall_ms)
{
    tenure->renewed = false;
    tenure->unanswered = false;
    tenure->late.holder[0] = '\0';
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

void tenure_wrote(struct tenure *tenure, const char *version, int64_t now_ms)
{
    if (tenure->asked == TENURE_WAIT || tenure->asked == TENURE_READ)
        return;
    if (strcmp(tenure->version, version) == 0) {
        /* It was so already: others have seen no renewal. */
        tenure_failed(tenure, false, now_ms);
        return;
    }
    tenure->asked = TENURE_WAIT;
    tenure->unanswered = false;
    tenure->late.holder[0] = '\0';
    tenure->stale = false;
    tenure->pause_ms = 0;
    tenure->not_before_ms = now_ms;
    tenure->renewed = true;
    tenure->renewed_ms = tenure->asked_ms;
    tenure->inherited_ms = 0;
    tenure->sure_ms = tenure->asked_ms + tenure->rules.duration_ms;
    note_there(tenure, &tenure->wish, version, now_ms);
}

static int64_t longer_pause(const struct tenure *tenure, bool is_conflict)
{
    int64_t first_ms = is_conflict ? CONFLICT_MS : tenure->rules.retry_ms;
    return MIN(MAX(2 * tenure->pause_ms, first_ms), RETRY_MOST_MS);
}

void tenure_failed(struct tenure *tenure, bool is_conflict, int64_t now_ms)
{
    if (tenure->asked == TENURE_WAIT)
        return;
    if (tenure->asked != TENURE_READ)
        tenure->there_ms = now_ms;
    if (tenure->asked != TENURE_READ && is_conflict)
        tenure->unanswered = false;
    tenure->asked = TENURE_WAIT;
    tenure->stale = true;
    tenure->pause_ms = longer_pause(tenure, is_conflict);
    tenure->not_before_ms = now_ms + tenure->pause_ms;
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
