// SPDX-License-Identifier: Apache-2.0
/*
 * One candidate's steps, with the clock and the API played by the test. The six named after
 * client-go's tests (client-go/tools/leaderelection) ask what these ask.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "plan/election.h"

enum { LEASE = 15000, RENEW = 10000, RETRY = 2000, MOST = 2 * RETRY + RETRY / 5 };

static struct lease_record record_of(const char *holder, int64_t transitions)
{
    struct lease_record record = {
        .duration_s = 15, .acquired_wall_ms = 1, .renewed_wall_ms = 2, .transitions = transitions
    };
    strncpy(record.holder, holder, sizeof(record.holder) - 1);
    return record;
}

static struct election candidate(const char *name)
{
    struct election election;
    election_begin(&election, &election_rules_default, name, 0);
    return election;
}

static void assert_step(struct election *election, int64_t now_ms, enum election_step expected)
{
    assert_int_equal(election_next(election, now_ms), expected);
}

/* Takes a free Lease at a time, by all three steps. */
static struct election leader(const char *name, int64_t now_ms)
{
    struct election election;
    election_begin(&election, &election_rules_default, name, now_ms);
    assert_step(&election, now_ms, ELECTION_READ);
    election_absent(&election);
    assert_step(&election, now_ms, ELECTION_CREATE);
    struct lease_record desired = election_desired(&election, 5);
    election_wrote(&election, &desired, "1", now_ms);
    assert_true(election.leading);
    return election;
}

/* What a candidate does who reads this record at a time. */
static enum election_step after_reading(struct election *election,
                                        const struct lease_record *record, int64_t now_ms)
{
    assert_step(election, now_ms, ELECTION_READ);
    election_saw(election, record, "7", 0, now_ms);
    return election_next(election, now_ms);
}

/* TestTryAcquireOrRenewLeases: no Lease; a Lease of nobody; of another, live and ended; of ours. */
static void acquires_or_renews(void **state)
{
    (void)state;
    leader("a", 0);

    struct election election = candidate("a");
    struct lease_record record = record_of("", 3);
    assert_int_equal(after_reading(&election, &record, 0), ELECTION_UPDATE);
    struct lease_record desired = election_desired(&election, 9);
    assert_string_equal(desired.holder, "a");
    assert_int_equal(desired.transitions, 4);
    assert_int_equal(desired.acquired_wall_ms, 9);

    election = candidate("a");
    record = record_of("b", 3);
    assert_int_equal(after_reading(&election, &record, 0), ELECTION_WAIT);
    assert_int_equal(after_reading(&election, &record, LEASE), ELECTION_UPDATE);
    assert_int_equal(election_desired(&election, 9).transitions, 4);

    election = candidate("a");
    record = record_of("a", 3);
    assert_int_equal(after_reading(&election, &record, 0), ELECTION_UPDATE);
    desired = election_desired(&election, 9);
    assert_int_equal(desired.transitions, 3);
    assert_int_equal(desired.acquired_wall_ms, 1);
    assert_int_equal(desired.renewed_wall_ms, 9);
}

/* TestFastPathLeaderElection: the leader renews without reading; where that fails, it reads. */
static void leader_renews_without_reading(void **state)
{
    (void)state;
    struct election election = leader("a", 0);
    assert_step(&election, RETRY - 1, ELECTION_WAIT);
    assert_step(&election, RETRY, ELECTION_UPDATE);
    assert_string_equal(election.version, "1");
    struct lease_record desired = election_desired(&election, 6);
    assert_int_equal(desired.acquired_wall_ms, 5);
    election_wrote(&election, &desired, "2", RETRY);
    assert_step(&election, 2 * RETRY, ELECTION_UPDATE);
    election_failed(&election, 0, 2 * RETRY);
    assert_step(&election, 2 * RETRY, ELECTION_READ);
    election_saw(&election, &desired, "3", 0, 2 * RETRY);
    assert_step(&election, 2 * RETRY, ELECTION_UPDATE);
    assert_string_equal(election.version, "3");
    assert_true(election.leading);
}

/* TestReleaseRetriesOnConflict and TestReleaseOnCancellation: only the leader lets go, and what it
 * leaves frees the Lease for everybody at once. */
static void leader_lets_go(void **state)
{
    (void)state;
    struct election election = candidate("b");
    struct lease_record record;
    assert_false(election_release(&election, 9, &record));
    struct election old = leader("a", 0);
    assert_true(election_release(&old, 9, &record));
    assert_string_equal(record.holder, "");
    assert_int_equal(record.duration_s, 1);
    assert_int_equal(after_reading(&election, &record, 1), ELECTION_UPDATE);
    assert_int_equal(election_desired(&election, 9).transitions, 1);

    struct lease_record now = record_of("a", 0);
    assert_true(election_release_again(&old, &now, "8", 9, &record));
    assert_string_equal(record.holder, "");
    assert_string_equal(old.version, "8");
    now = record_of("b", 1);
    assert_false(election_release_again(&old, &now, "9", 9, &record));
}

/* TestCheckMethodRace: who has lost leadership says so from then on, whatever answers come late. */
static void deadline_ends_leadership(void **state)
{
    (void)state;
    struct election election = leader("a", 0);
    assert_step(&election, RETRY, ELECTION_UPDATE);
    assert_int_equal(election_next_ms(&election), RENEW);
    assert_step(&election, RENEW - 1, ELECTION_WAIT);
    assert_true(election.leading && election_leads(&election, RENEW - 1));
    assert_false(election_leads(&election, RENEW)); /* asked before any step */
    assert_step(&election, RENEW, ELECTION_WAIT);
    assert_false(election.leading);
    struct lease_record desired = election_desired(&election, 6);
    election_wrote(&election, &desired, "2", RENEW + 1);
    assert_false(election.leading);
    assert_step(&election, RENEW + RETRY, ELECTION_READ);
}

/* A renewal counts from when it was sent: its lease began then at the latest. */
static void late_answer_does_not_lengthen_leadership(void **state)
{
    (void)state;
    struct election election = leader("a", 0);
    assert_step(&election, RETRY, ELECTION_UPDATE);
    struct lease_record desired = election_desired(&election, 6);
    election_wrote(&election, &desired, "2", RETRY + 5000);
    assert_step(&election, RETRY + 7000, ELECTION_UPDATE);
    assert_step(&election, RETRY + RENEW, ELECTION_WAIT);
    assert_false(election.leading);
}

static void another_clock_does_not_count(void **state)
{
    (void)state;
    struct election election = candidate("a");
    struct lease_record record = record_of("b", 0);
    record.renewed_wall_ms = INT64_MAX; /* an age ahead of ours */
    assert_int_equal(after_reading(&election, &record, 0), ELECTION_WAIT);
    record.renewed_wall_ms = 0; /* another record: it lives, though its time went back */
    assert_int_equal(after_reading(&election, &record, LEASE - 1), ELECTION_WAIT);
    assert_int_equal(after_reading(&election, &record, 2 * LEASE - 2), ELECTION_WAIT);
    assert_int_equal(after_reading(&election, &record, 3 * LEASE), ELECTION_UPDATE);
}

static void candidates_are_spread(void **state)
{
    (void)state;
    struct election election = candidate("a");
    struct lease_record record = record_of("b", 0);
    assert_step(&election, 0, ELECTION_READ);
    election_saw(&election, &record, "1", 0, 0);
    assert_int_equal(election_next_ms(&election), RETRY);
    assert_step(&election, RETRY, ELECTION_READ);
    election_failed(&election, UINT32_MAX, RETRY);
    assert_int_equal(election_next_ms(&election), RETRY + MOST);
}

/* No longer than until the end of the claim that is known, so that the end is seen at once. */
static void candidates_look_when_the_claim_ends(void **state)
{
    (void)state;
    struct election election = candidate("a");
    struct lease_record record = record_of("b", 0);
    after_reading(&election, &record, 0);
    assert_step(&election, LEASE - 300, ELECTION_READ);
    election_saw(&election, &record, "1", 0, LEASE - 300);
    assert_int_equal(election_next_ms(&election), LEASE);
    assert_int_equal(after_reading(&election, &record, LEASE), ELECTION_UPDATE);

    election = candidate("a");
    after_reading(&election, &record, 0);
    assert_step(&election, LEASE - 300, ELECTION_READ);
    election_failed(&election, UINT32_MAX, LEASE - 300); /* nothing is known to have changed */
    assert_int_equal(election_next_ms(&election), LEASE + RETRY / 4);
    assert_step(&election, LEASE + RETRY / 4, ELECTION_READ);
    record.renewed_wall_ms++; /* it lives */
    election_saw(&election, &record, "2", UINT32_MAX, LEASE + RETRY / 4);
    assert_int_equal(election_next_ms(&election), LEASE + RETRY / 4 + MOST);
}

static void another_leader_ends_leadership(void **state)
{
    (void)state;
    struct election election = leader("a", 0);
    assert_step(&election, RETRY, ELECTION_UPDATE);
    election_failed(&election, 0, RETRY);
    struct lease_record record = record_of("b", 1);
    assert_int_equal(after_reading(&election, &record, RETRY), ELECTION_WAIT);
    assert_false(election.leading);
}

static void coordinated_leases_are_left_alone(void **state)
{
    (void)state;
    struct election election = candidate("a");
    struct lease_record record = record_of("", 0);
    record.coordinated = true;
    assert_int_equal(after_reading(&election, &record, 0), ELECTION_WAIT);
    assert_false(election.leading);
}

static void answers_to_nothing_are_ignored(void **state)
{
    (void)state;
    struct election election = candidate("a");
    struct lease_record record = record_of("a", 0);
    election_wrote(&election, &record, "1", 0);
    election_saw(&election, &record, "1", 0, 0);
    election_absent(&election);
    election_failed(&election, 0, 0);
    assert_false(election.leading);
    assert_step(&election, 0, ELECTION_READ);
    assert_step(&election, 0, ELECTION_WAIT);
}

/* Many candidates who are cut off at times, an API that is slow and loses answers: never two lead.
 */
struct race {
    struct lease_record stored;
    char version[LEASE_VERSION_MAX];
    unsigned writes;
    uint32_t chance;
};

static uint32_t draw(struct race *race)
{
    race->chance = race->chance * 1664525 + 1013904223;
    return race->chance;
}

static void write_version(struct race *race)
{
    race->writes++;
    snprintf(race->version, sizeof(race->version), "%u", race->writes);
}

struct racer {
    struct election election;
    enum election_step sent;
    struct lease_record desired;
    char over[LEASE_VERSION_MAX];
    bool stored;
    int64_t arrives_ms, answered_ms, cut_off_until_ms;
};

static void send(struct race *race, struct racer *racer, enum election_step step, int64_t now_ms)
{
    racer->sent = step;
    racer->desired = election_desired(&racer->election, now_ms);
    memcpy(racer->over, racer->election.version, sizeof(racer->over));
    racer->stored = false;
    racer->arrives_ms = now_ms + draw(race) % 1500;
    racer->answered_ms = racer->arrives_ms + draw(race) % (draw(race) % 8 ? 3000 : 9000);
}

static void arrive(struct race *race, struct racer *racer)
{
    bool create = racer->sent == ELECTION_CREATE && race->writes == 0;
    bool update = racer->sent == ELECTION_UPDATE && strcmp(racer->over, race->version) == 0;
    bool lost = racer->arrives_ms < racer->cut_off_until_ms;
    racer->arrives_ms = INT64_MAX;
    if (lost || (!create && !update))
        return;
    race->stored = racer->desired;
    write_version(race);
    memcpy(racer->over, race->version, sizeof(racer->over));
    racer->stored = true;
}

static void answer(struct race *race, struct racer *racer, int64_t now_ms)
{
    enum election_step sent = racer->sent;
    racer->sent = ELECTION_WAIT;
    if (now_ms < racer->cut_off_until_ms || draw(race) % 8 == 0)
        election_failed(&racer->election, draw(race), now_ms); /* the answer is lost */
    else if (sent == ELECTION_READ && race->writes == 0)
        election_absent(&racer->election);
    else if (sent == ELECTION_READ)
        election_saw(&racer->election, &race->stored, race->version, draw(race), now_ms);
    else if (racer->stored)
        election_wrote(&racer->election, &racer->desired, racer->over, now_ms);
    else
        election_failed(&racer->election, draw(race), now_ms);
}

static void step(struct race *race, struct racer *racer, int64_t now_ms)
{
    if (draw(race) % 10000 == 0)
        racer->cut_off_until_ms = now_ms + draw(race) % 60000;
    if (racer->sent != ELECTION_WAIT && now_ms >= racer->arrives_ms)
        arrive(race, racer);
    if (racer->sent != ELECTION_WAIT && racer->arrives_ms == INT64_MAX &&
        now_ms >= racer->answered_ms)
        answer(race, racer, now_ms);
    bool led = racer->election.leading;
    enum election_step next = election_next(&racer->election, now_ms);
    if (led && !racer->election.leading)
        racer->sent = ELECTION_WAIT; /* cancelled; it may still have arrived */
    if (next != ELECTION_WAIT)
        send(race, racer, next, now_ms);
}

static void never_two_lead(void **state)
{
    (void)state;
    enum { RACERS = 3, HOUR_MS = 3600 * 1000 };
    struct race race = { .chance = 1 };
    struct racer racers[RACERS] = { 0 };
    unsigned long led_ms = 0;
    for (size_t i = 0; i < RACERS; i++)
        racers[i].election = candidate((const char *[]){ "a", "b", "c" }[i]);
    for (int64_t now_ms = 0; now_ms < HOUR_MS; now_ms += 10) {
        unsigned leading = 0;
        for (size_t i = 0; i < RACERS; i++) {
            if (draw(&race) % 5000 != 0) /* now and then one is not run for a moment */
                step(&race, &racers[i], now_ms);
            leading += racers[i].election.leading;
        }
        assert_true(leading <= 1);
        led_ms += leading * 10;
    }
    assert_true(led_ms > HOUR_MS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acquires_or_renews),
        cmocka_unit_test(leader_renews_without_reading),
        cmocka_unit_test(leader_lets_go),
        cmocka_unit_test(deadline_ends_leadership),
        cmocka_unit_test(late_answer_does_not_lengthen_leadership),
        cmocka_unit_test(another_clock_does_not_count),
        cmocka_unit_test(candidates_are_spread),
        cmocka_unit_test(candidates_look_when_the_claim_ends),
        cmocka_unit_test(another_leader_ends_leadership),
        cmocka_unit_test(coordinated_leases_are_left_alone),
        cmocka_unit_test(answers_to_nothing_are_ignored),
        cmocka_unit_test(never_two_lead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
