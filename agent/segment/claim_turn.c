// SPDX-License-Identifier: Apache-2.0
/*
 * One claim: whether this node is to hold it, the requests to the store, and what the answers
 * change. Called by claims.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "segment/claims_inside.h"

enum {
    NOBODY_MS = 5 * SECOND_MS, /* an eligible node takes a free claim within one */
    LATE_MS = 250,             /* of an answer: the store may have been unreachable meanwhile */
};

/* ---- Rank and right ---- */

/* The holder or, if that was another node, the last holder: it is not waited for. */
static const char *holder_of(const struct own_claim *claim)
{
    const struct lease *lease = &claim->lease;
    if (lease->sight != LEASE_THERE)
        return "";
    return lease->seen.holder[0] ? lease->seen.holder : claim->gave_back;
}

static struct placement placement_of(const struct own_claim *claim)
{
    return (struct placement){
        .others = claim->others,
        .may = claim->reason == PLACEMENT_MAY,
        .key = claim->key,
        .self = claim->claims->node,
        .lacks = claim->lacks,
        .holder = holder_of(claim),
        .held_since_ms = claim->held_since_ms,
        .failback_ms = claim->claims->options.failback_ms,
        .passed_over = claim->passed_over,
        .passed_until_ms = claim->passed_until_ms,
    };
}

/* Without sockets this node could not probe whether an address is free. */
static bool can_speak(const struct own_claim *claim)
{
    vec_each(const struct claim_address, address, &claim->addresses) {
        if (wires_error(claim->claims->wires, address->ifindex) < 0)
            return false;
    }
    return true;
}

static void follow_right(struct own_claim *claim, bool has_right, int64_t now_ms)
{
    claim->has_right = has_right;
    vec_each(struct claim_address, address, &claim->addresses) {
        if (!has_right)
            announcing_stop(&address->announcing);
        else
            announcing_begin(&address->announcing, now_ms);
    }
}

/* Hosts that were cut off with this node may cache an earlier holder, and so may this node. */
static void seek_holder(struct own_claim *claim, int64_t now_ms)
{
    if (!claim->cut_off || claim->failures || (!claim->has_right && !claim_is_anothers(claim)))
        return;
    claim->cut_off = false;
    if (claim->has_right)
        return;
    vec_each(struct claim_address, address, &claim->addresses)
        announcing_seek(&address->announcing, now_ms);
}

/* After a conflicting announcement the store was read, and this node still has the right. */
static void confirm(struct own_claim *claim, int64_t now_ms)
{
    if (claim->lease.stale || claim->lease.asked != LEASE_WAIT)
        return;
    vec_each(struct claim_address, address, &claim->addresses)
        announcing_confirmed(&address->announcing, now_ms);
}

/* Called before the rank is computed, since fail-back counts from held_since_ms. */
static void note_gained(struct own_claim *claim, int64_t now_ms)
{
    if (!claim->has_right && lease_lifetime_s(&claim->lease, now_ms) > 0)
        claim->held_since_ms = now_ms;
}

bool claim_is_anothers(const struct own_claim *claim)
{
    const struct lease_record *seen = &claim->lease.seen;
    return claim->lease.sight == LEASE_THERE && seen->holder[0] &&
           strcmp(seen->holder, claim->claims->node) != 0;
}

/* This node does not write a claim that another node holds, so its write failures are outdated. */
static void note_pace(struct own_claim *claim, int64_t now_ms)
{
    int64_t slow_ms = lease_slow_ms(&claim->lease, now_ms);
    claim->slowest_ms = slow_ms ? MAX(claim->slowest_ms, slow_ms) : 0;
    if (!claim_is_anothers(claim) || now_ms >= lease_others_end_ms(&claim->lease))
        return;
    claim->not_written = 0;
    if (claim->failures == 0)
        claim->trouble[0] = '\0';
}

static void note_holder(struct own_claim *claim)
{
    const struct lease_record *seen = &claim->lease.seen;
    if (claim->lease.sight == LEASE_THERE && seen->holder[0] &&
        strcmp(seen->holder, claim->passed_over) == 0)
        claim->passed_over[0] = '\0'; /* it holds the claim after all */
    if (claim->lease.sight == LEASE_THERE && seen->holder[0])
        (void)snprintf(claim->gave_back, sizeof(claim->gave_back), "%s",
                       strcmp(seen->holder, claim->claims->node) == 0 ? "" : seen->holder);
}

const char *claim_holder(const struct own_claim *claim, int64_t now_ms)
{
    const struct lease *lease = &claim->lease;
    bool heard = claim->claims->hears && claim->failures == 0;
    bool over = heard && now_ms >= lease_others_end_ms(lease);
    return lease->sight == LEASE_THERE && !over ? lease->seen.holder : "";
}

/* A store with many pending requests answers late, to this node and to the first in rank. */
void claims_pace(struct claims *claims, int64_t now_ms)
{
    int64_t answer_ms = claims->answer_ms;
    claims->asking = 0;
    vec_each(struct own_claim *const, claim, &claims->list) {
        if (!(*claim)->request)
            continue;
        claims->asking++;
        answer_ms = MAX(answer_ms, now_ms - (*claim)->lease.asked_ms);
    }
    vec_each(struct own_claim *const, claim, &claims->list)
        lease_pace(&(*claim)->lease, answer_ms);
}

/* True if advertisements or the configuration exclude this node and, where they name nodes, all
 * others, too. */
static bool is_left_out(const struct own_claim *claim)
{
    bool others = claim->others && claim->others->nodes.count;
    return claim->reason == PLACEMENT_OTHER_LINKS || claim->reason == PLACEMENT_UNUSED_LINK ||
           (claim->reason == PLACEMENT_OTHER_NODES && !others);
}

static void note_nobody(struct own_claim *claim, int64_t now_ms)
{
    bool held = *claim_holder(claim, now_ms) != '\0';
    if (!claim->wanted || !claim->claims->hears || held || !is_left_out(claim))
        claim->nobody_ms = 0;
    else if (!claim->nobody_ms)
        claim->nobody_ms = now_ms;
}

void claim_rank(struct own_claim *claim, int64_t now_ms)
{
    note_gained(claim, now_ms);
    note_holder(claim);
    note_pace(claim, now_ms);
    const struct placement placement = placement_of(claim);
    bool may = claim->wanted && claim->reason == PLACEMENT_MAY && can_speak(claim);
    lease_rank(&claim->lease, may ? placement_rank(&placement, now_ms) : LEASE_NO_RANK, now_ms);
    follow_right(claim, lease_lifetime_s(&claim->lease, now_ms) > 0, now_ms);
    if (claim->has_right)
        confirm(claim, now_ms);
    seek_holder(claim, now_ms);
    note_nobody(claim, now_ms);
}

/* ---- Answers ---- */

/* The message for a write that timed out includes the limit and what it means. */
static void note_trouble(struct own_claim *claim, const struct claim_answer *answer, bool given_up)
{
    const struct lease_rules *rules = &claim->lease.rules;
    char limit[64] = "";
    if (given_up)
        (void)snprintf(
            limit, sizeof(limit), "; a claim of %" PRId64 " s can't be kept above %.1f s",
            rules->duration_ms / SECOND_MS, (double)lease_keepable_ms(rules) / SECOND_MS);
    (void)snprintf(claim->trouble, sizeof(claim->trouble), "%s%s", answer->why, limit);
    claim->remedy = answer->remedy;
}

/* A stored write changes the version of the record. */
static bool is_unstored(const struct own_claim *claim, const struct claim_answer *answer)
{
    const struct lease *lease = &claim->lease;
    return lease->asked != LEASE_READ && answer->outcome == CLAIM_DONE &&
           strcmp(answer->version, lease->version) == 0;
}

/* After a conflict, or a success, the record must have changed. If a read finds the old version,
 * the store has in fact refused the write. */
static void judge_conflict(struct own_claim *claim, const struct claim_answer *answer)
{
    static const char remedy[] =
        "see who changes or refuses it on its way: admission webhooks (kubectl get "
        "mutatingwebhookconfigurations,validatingwebhookconfigurations), or what the store's "
        "journal says; else delete it: the nodes make another";
    if (!claim->conflicted || answer->outcome == CLAIM_FAILED)
        return;
    claim->conflicted = false;
    if (strcmp(claim->conflict, answer->version) != 0) {
        claim->not_written = 0;
        return;
    }
    claim->not_written++;
    claim->remedy = remedy;
    (void)snprintf(
        claim->trouble, sizeof(claim->trouble),
        claim->unstored
            ? "the store says to each write that it is done, and the record is as it was"
            : "the store says to each write that the record has changed, and it has not");
}

static void note_conflict(struct own_claim *claim, bool unstored)
{
    const struct lease *lease = &claim->lease;
    claim->conflicted = true;
    claim->unstored = unstored;
    (void)snprintf(claim->conflict, sizeof(claim->conflict), "%s",
                   lease->asked == LEASE_CREATE ? "" : lease->version);
}

/*
 * Writes are counted separately, since reads between refused writes succeed. While packets are
 * lost, a request on an established connection does not fail: its answer is late.
 */
static void note_outcome(struct own_claim *claim, const struct claim_answer *answer, int64_t now_ms)
{
    const struct lease *lease = &claim->lease;
    bool failed = answer->outcome == CLAIM_FAILED;
    bool is_write = lease->asked != LEASE_READ;
    int64_t took_ms = now_ms - lease->asked_ms;
    claim->failures = failed ? claim->failures + 1 : 0;
    if (!is_write)
        judge_conflict(claim, answer);
    else if (answer->outcome == CLAIM_CONFLICT || is_unstored(claim, answer))
        note_conflict(claim, answer->outcome == CLAIM_DONE);
    else
        claim->not_written = failed ? claim->not_written + 1 : 0;
    claim->told_to_wait =
        failed ? answer->retry_after_ms >= SECOND_MS : claim->told_to_wait && claim->not_written;
    claim->cut_off |= failed || took_ms >= LATE_MS;
    claim->claims->options.counts->failures += failed;
    if (failed)
        note_trouble(claim, answer, is_write && took_ms >= lease_keepable_ms(&lease->rules));
    else if (claim->not_written == 0)
        claim->trouble[0] = '\0';
}

static void take_failure(struct own_claim *claim, const struct claim_answer *answer, int64_t now_ms)
{
    uint32_t random = 0; /* without randomness, as early in the boot: the longest pause */
    (void)getrandom(&random, sizeof(random), GRND_NONBLOCK);
    lease_draw(&claim->lease, random);
    if (is_unstored(claim, answer))
        lease_wrote(&claim->lease, answer->version, now_ms);
    else if (answer->refused)
        lease_refused(&claim->lease, answer->retry_after_ms, now_ms);
    else
        lease_failed(&claim->lease, answer->outcome == CLAIM_CONFLICT, now_ms);
}

static void take_read(struct own_claim *claim, const struct claim_answer *answer, int64_t now_ms)
{
    claim->read_ms = now_ms;
    if (answer->outcome == CLAIM_DONE)
        lease_saw(&claim->lease, answer->record, answer->version, now_ms);
    else if (answer->outcome == CLAIM_ABSENT)
        lease_absent(&claim->lease, MIN(MAX(answer->since_ms, claim->claims->woke_ms), now_ms),
                     now_ms);
    else
        take_failure(claim, answer, now_ms);
}

/* For twice as long each time, counted from `first_ms`. */
static void pass_over(struct own_claim *claim, const char *node, int64_t first_ms, int64_t now_ms)
{
    bool again = strcmp(claim->passed_over, node) == 0;
    claim->passed_times = again ? claim->passed_times + 1 : 0;
    claim->passed_until_ms = now_ms + (first_ms << MIN(claim->passed_times, 12U));
    (void)snprintf(claim->passed_over, sizeof(claim->passed_over), "%s", node);
}

/*
 * This node takes a claim that another node has not renewed, or not taken when it was free: that
 * node may be dead before it is reported so. Kubernetes reports it after 50 s; a folder of
 * manifests never does.
 */
static void note_passed_over(struct own_claim *claim, int64_t now_ms)
{
    const struct lease_record *seen = &claim->lease.seen;
    const struct placement placement = placement_of(claim);
    const char *first = placement_first(&placement);
    if (claim->lease.asked != LEASE_UPDATE || placement.failback_ms < 0 ||
        strcmp(seen->holder, claim->claims->node) == 0)
        return;
    if (seen->holder[0])
        pass_over(claim, seen->holder, MAX(placement.failback_ms, MINUTE_MS), now_ms);
    else if (first)
        pass_over(claim, first, 2 * placement.failback_ms, now_ms);
}

static void take_written(struct own_claim *claim, const struct claim_answer *answer, int64_t now_ms)
{
    note_passed_over(claim, now_ms);
    bool released = claim->lease.asked == LEASE_RELEASE;
    claim_records_note(claim->claims, claim->key, &claim->lease.desired, answer->version, released);
    lease_wrote(&claim->lease, answer->version, now_ms);
}

static void on_told(void *context, const struct claim_answer *answer)
{
    struct own_claim *claim = context;
    int64_t now_ms = clock_boot_ms();
    claim->request = NULL;
    claim->claims->answer_ms = now_ms - claim->lease.asked_ms;
    note_outcome(claim, answer, now_ms);
    if (claim->lease.asked == LEASE_READ)
        take_read(claim, answer, now_ms);
    else if (answer->outcome == CLAIM_DONE && !is_unstored(claim, answer))
        take_written(claim, answer, now_ms);
    else
        take_failure(claim, answer, now_ms);
    deferred_schedule(claim->claims->turn);
}

/* Renewals of other nodes are frequent; they only postpone what is due. */
static bool is_renewal(const struct lease *lease, const struct lease_record *record)
{
    const struct lease_record *seen = &lease->seen;
    return record && record->holder[0] && lease->sight == LEASE_THERE && !lease->stale &&
           strcmp(seen->holder, record->holder) == 0 && seen->duration_s == record->duration_s &&
           seen->coordinated == record->coordinated;
}

void claim_heard(struct own_claim *claim, const struct lease_record *record, const char *version,
                 int64_t now_ms)
{
    bool renewal = is_renewal(&claim->lease, record);
    lease_heard(&claim->lease, record, version, now_ms);
    if (!renewal || claim->lease.stale)
        deferred_schedule(claim->claims->turn);
}

/* ---- Requests ---- */

static int send_step(struct own_claim *claim, enum lease_step step)
{
    const struct lease *lease = &claim->lease;
    const struct claim_store *store = &claim->claims->options.store;
    const bool is_change = step == LEASE_UPDATE || step == LEASE_RELEASE;
    const struct claim_ask ask = {
        .key = claim->key,
        .desired = step == LEASE_READ ? NULL : &lease->desired,
        .over = is_change ? &lease->seen : NULL,
        .version = is_change ? lease->version : NULL,
        .limit_ms = lease_limit_ms(lease),
        .told = on_told,
        .context = claim,
    };
    switch (step) {
    case LEASE_READ:
        return store->ops->read(store->data, &ask, &claim->request);
    case LEASE_CREATE:
        return store->ops->create(store->data, &ask, &claim->request);
    case LEASE_UPDATE:
        return store->ops->update(store->data, &ask, &claim->request);
    case LEASE_RELEASE:
        return store->ops->release(store->data, &ask, &claim->request);
    case LEASE_WAIT:
        break;
    }
    return 0;
}

void claim_ask(struct own_claim *claim, int64_t now_ms)
{
    enum lease_step step = lease_next(&claim->lease, now_ms, clock_wall_ms());
    if (step == LEASE_WAIT)
        return;
    claim->claims->options.counts->requests++;
    int r = send_step(claim, step);
    if (r == 0) {
        claim->claims->asking++;
        return;
    }
    const struct claim_answer failed = { .outcome = CLAIM_FAILED, .why = strerror(-r) };
    note_outcome(claim, &failed, now_ms);
    lease_failed(&claim->lease, false, now_ms);
}

enum turn {
    TURN_OWN,   /* what this node holds, to keep or release it, or has just read */
    TURN_FIRST, /* what this node is the first to take */
    TURN_REST,  /* the first in rank has most likely taken it before */
    TURNS,
};

/* A record that was read and is not written soon has to be read again. */
static enum turn turn_of(const struct own_claim *claim, int64_t now_ms)
{
    const struct lease *lease = &claim->lease;
    if (claim->has_right || lease->acquired_wall_ms != 0 ||
        now_ms - claim->read_ms < lease->rules.retry_ms)
        return TURN_OWN;
    return lease->rank == 0 ? TURN_FIRST : TURN_REST;
}

/* Round robin, from the first claim that found no free request. */
static void ask_these(struct claims *claims, enum turn turn, int64_t now_ms)
{
    const size_t count = claims->list.count, first = claims->ask_next;
    for (size_t i = 0; i < count; i++) {
        const size_t place = (first + i) % count;
        struct own_claim *claim = claims->list.items[place];
        if (turn_of(claim, now_ms) != turn)
            continue;
        if (claims->asking >= ASKING_MOST) {
            claims->ask_next = place;
            return;
        }
        claim_ask(claim, now_ms);
    }
}

void claims_ask(struct claims *claims, int64_t now_ms)
{
    for (enum turn turn = 0; turn < TURNS; turn++)
        ask_these(claims, turn, now_ms);
}

/* ---- Times ---- */

/* An eligible node renews by its own duration; the limit for any other holder is shorter. */
int64_t claim_stuck_ms(const struct own_claim *claim)
{
    const struct lease *lease = &claim->lease;
    int64_t patience_ms = lease->rules.duration_ms + lease->rules.late_ms;
    const char *holder = lease->seen.holder;
    if (lease->rank < 0 || lease->sight != LEASE_THERE || !holder[0] ||
        strcmp(holder, claim->claims->node) == 0 || lease->bound_ms <= patience_ms)
        return INT64_MAX;
    bool may = claim->others && contenders_find(claim->others, holder);
    return lease->changed_ms + (may ? MAX(patience_ms, lease->bound_ms * 2 / 3) : patience_ms);
}

int64_t claim_nobody_ms(const struct own_claim *claim)
{
    return claim->nobody_ms ? claim->nobody_ms + NOBODY_MS : INT64_MAX;
}

/* A time in the future, else INT64_MAX: what is past was handled. */
static int64_t ahead(int64_t at_ms, int64_t now_ms)
{
    return at_ms > now_ms ? at_ms : INT64_MAX;
}

int64_t claim_next_ms(const struct own_claim *claim, int64_t now_ms)
{
    const struct placement placement = placement_of(claim);
    bool is_full = claim->claims->asking >= ASKING_MOST; /* then the next answer starts a turn */
    int64_t next_ms = is_full ? INT64_MAX : lease_next_ms(&claim->lease);
    next_ms = MIN(next_ms, ahead(placement_next_ms(&placement), now_ms));
    next_ms = MIN(next_ms, ahead(claim_stuck_ms(claim), now_ms));
    next_ms = MIN(next_ms, ahead(claim_nobody_ms(claim), now_ms));
    next_ms = MIN(next_ms, ahead(lease_others_end_ms(&claim->lease), now_ms));
    vec_each(const struct claim_address, address, &claim->addresses) {
        if (address->announcing.state != ANNOUNCING_IDLE)
            next_ms = MIN(next_ms, announcing_due_ms(&address->announcing));
    }
    /* The kernel can't keep less than a second of it. */
    return claim->has_right ? MIN(next_ms, lease_until_ms(&claim->lease) - SECOND_MS + 1) : next_ms;
}

bool claim_is_over(const struct own_claim *claim)
{
    return !claim->wanted && !claim->request && !claim->has_right && !claim->lease.installed &&
           lease_next_ms(&claim->lease) == INT64_MAX;
}
