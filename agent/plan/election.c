// SPDX-License-Identifier: Apache-2.0
/*
 * See election.h. One attempt has at most three steps: update of the last seen record, else read,
 * then write.
 */
#include "plan/election.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"

enum { MS_PER_S = 1000 };

const struct election_rules election_rules_default = {
    .lease_ms = 15000,
    .renew_ms = 10000,
    .retry_ms = 2000,
};

void election_begin(struct election *election, const struct election_rules *rules,
                    const char *identity, int64_t now_ms)
{
    *election = (struct election){ .rules = *rules, .next_ms = now_ms };
    (void)snprintf(election->identity, sizeof(election->identity), "%s", identity);
}

static bool is_mine(const struct election *election)
{
    return strcmp(election->seen.holder, election->identity) == 0;
}

/* Whether the last seen record is still valid. */
static bool is_in_force(const struct election *election, int64_t now_ms)
{
    return election->seen.holder[0] &&
           now_ms - election->changed_ms < election->seen.duration_s * MS_PER_S;
}

static int64_t deadline_of(const struct election *election)
{
    return election->renewed_ms + election->rules.renew_ms;
}

static void end_attempt(struct election *election, int64_t wait_ms, int64_t now_ms)
{
    election->step = ELECTION_WAIT;
    election->asked = false;
    election->read = false;
    election->next_ms = now_ms + wait_ms;
}

static void go_on(struct election *election, enum election_step step)
{
    election->step = step;
    election->asked = false;
}

/*
 * Between 1 and 2.2 retry periods: the period, and up to 1.2 periods of jitter. But at most until
 * the known lease expires, and up to a quarter of a period of jitter.
 */
static int64_t candidate_wait(const struct election *election, uint32_t chance, int64_t now_ms)
{
    const double spread_ms = (double)election->rules.retry_ms * chance / UINT32_MAX;
    const int64_t wait_ms = election->rules.retry_ms + (int64_t)(1.2 * spread_ms);
    const int64_t end_ms = election->changed_ms + election->seen.duration_s * MS_PER_S;
    return is_in_force(election, now_ms) ? MIN(wait_ms, end_ms - now_ms + (int64_t)(spread_ms / 4))
                                         : wait_ms;
}

static void end_overdue(struct election *election, int64_t now_ms)
{
    if (!election->leading || election_leads(election, now_ms))
        return;
    election->leading = false;
    end_attempt(election, election->rules.retry_ms, now_ms);
}

static enum election_step first_step(const struct election *election, int64_t now_ms)
{
    bool quick = election->leading && is_mine(election) && !election->seen.coordinated &&
                 is_in_force(election, now_ms);
    return quick ? ELECTION_UPDATE : ELECTION_READ;
}

enum election_step election_next(struct election *election, int64_t now_ms)
{
    end_overdue(election, now_ms);
    if (election->step == ELECTION_WAIT && now_ms >= election->next_ms)
        go_on(election, first_step(election, now_ms));
    if (election->asked || election->step == ELECTION_WAIT)
        return ELECTION_WAIT;
    election->asked = true;
    election->asked_ms = now_ms;
    return election->step;
}

int64_t election_next_ms(const struct election *election)
{
    int64_t deadline = election->leading ? deadline_of(election) : INT64_MAX;
    if (election->step == ELECTION_WAIT)
        return MIN(election->next_ms, deadline);
    return election->asked ? deadline : 0;
}

struct lease_record election_desired(const struct election *election, int64_t wall_ms)
{
    struct lease_record record = {
        .duration_s = election->rules.lease_ms / MS_PER_S,
        .acquired_wall_ms = wall_ms,
        .renewed_wall_ms = wall_ms,
    };
    memcpy(record.holder, election->identity, sizeof(record.holder));
    if (election->step != ELECTION_UPDATE)
        return record;
    record.transitions = election->seen.transitions;
    if (is_mine(election))
        record.acquired_wall_ms = election->seen.acquired_wall_ms;
    else
        record.transitions++;
    return record;
}

/* A leader stays leader until its deadline, and tries again before. */
static void fail_attempt(struct election *election, uint32_t chance, int64_t now_ms)
{
    int64_t wait_ms =
        election->leading ? election->rules.retry_ms : candidate_wait(election, chance, now_ms);
    end_attempt(election, wait_ms, now_ms);
}

static void see(struct election *election, const struct lease_record *record, const char *version,
                int64_t now_ms)
{
    if (!election->version[0] || !lease_record_eq(&election->seen, record)) {
        election->seen = *record;
        election->changed_ms = now_ms;
    }
    (void)snprintf(election->version, sizeof(election->version), "%s", version);
}

static bool is_asked(const struct election *election, enum election_step step)
{
    return election->asked && election->step == step;
}

void election_saw(struct election *election, const struct lease_record *record, const char *version,
                  uint32_t chance, int64_t now_ms)
{
    if (!is_asked(election, ELECTION_READ))
        return;
    see(election, record, version, now_ms);
    election->read = true;
    bool taken = is_in_force(election, now_ms) && !is_mine(election);
    if (taken)
        election->leading = false;
    if (taken || record->coordinated)
        fail_attempt(election, chance, now_ms);
    else
        go_on(election, ELECTION_UPDATE);
}

void election_absent(struct election *election)
{
    if (!is_asked(election, ELECTION_READ))
        return;
    election->read = true;
    go_on(election, ELECTION_CREATE);
}

void election_wrote(struct election *election, const struct lease_record *record,
                    const char *version, int64_t now_ms)
{
    if (!is_asked(election, ELECTION_CREATE) && !is_asked(election, ELECTION_UPDATE))
        return;
    see(election, record, version, now_ms);
    election->leading = true;
    election->renewed_ms = election->asked_ms;
    end_attempt(election, election->rules.retry_ms, now_ms);
}

void election_failed(struct election *election, uint32_t chance, int64_t now_ms)
{
    if (is_asked(election, ELECTION_UPDATE) && !election->read)
        go_on(election, ELECTION_READ); /* the update without a read failed: read first */
    else if (election->asked)
        fail_attempt(election, chance, now_ms);
}

bool election_release(const struct election *election, int64_t wall_ms,
                      struct lease_record *ret_record)
{
    if (!election->leading)
        return false;
    *ret_record = (struct lease_record){
        .duration_s = 1,
        .acquired_wall_ms = wall_ms,
        .renewed_wall_ms = wall_ms,
        .transitions = election->seen.transitions,
    };
    return true;
}

bool election_release_again(struct election *election, const struct lease_record *record,
                            const char *version, int64_t wall_ms, struct lease_record *ret_record)
{
    election->seen = *record;
    (void)snprintf(election->version, sizeof(election->version), "%s", version);
    return is_mine(election) && election_release(election, wall_ms, ret_record);
}

bool election_leads(const struct election *election, int64_t now_ms)
{
    return election->leading && now_ms < deadline_of(election);
}
