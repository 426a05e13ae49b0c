// SPDX-License-Identifier: Apache-2.0
/*
 * Deletes records of the store that no claim wants any more. Called by claims.c.
 *
 * A record outlives its address: the Service was deleted and the holder has released the claim, or
 * has died. The watch reports all records to every node, so each node knows without a request which
 * ones are not written any more. A record is deleted when no claim of this node has its name, and
 * no node has written it for so long that a node with such a claim would have taken it. Each node
 * adds a delay, by a hash of both names, except the node that has released the record: so one node
 * deletes it, the others see the deletion, and no leader election is needed.
 *
 * A deletion names the version that was seen. A node that takes the record in between keeps it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/siphash.h"
#include "segment/claims_inside.h"

enum {
    ANSWER_MS = 5 * 1000,
    AGAIN_MS = 5 * 1000, /* after a failure; doubled each time */
    AGAIN_MOST_MS = 5 * 60 * 1000,
};

/* The last reported state. */
struct claim_record {
    char key[HOLDING_KEY_MAX];
    char version[LEASE_VERSION_MAX];
    int64_t due_ms; /* when it may be deleted */
};

static int record_cmp(const void *a, const void *b)
{
    return strcmp(((const struct claim_record *)a)->key, ((const struct claim_record *)b)->key);
}

void claim_records_begin(struct claims *claims)
{
    claims->records = (struct sorted)SORTED(struct claim_record, record_cmp);
}

/* ---- Records ---- */

static int64_t own_delay_ms(const struct claims *claims, const char *key)
{
    static const uint8_t hash_key[16] = "fingerpost/gone";
    const uint64_t parts[] = {
        siphash(key, strlen(key), hash_key),
        siphash(claims->node, strlen(claims->node), hash_key),
    };
    const uint64_t duration_ms = (uint64_t)claims->options.rules.duration_ms;
    return (int64_t)(siphash(parts, sizeof(parts), hash_key) % duration_ms);
}

/*
 * By then a node that wants it has taken it: the right of its last holder is over, and a duration
 * has passed.
 */
static int64_t due_ms(const struct claims *claims, const struct lease_record *record,
                      int64_t now_ms)
{
    const struct lease_rules *rules = &claims->options.rules;
    int64_t bound_ms = record->duration_s ? record->duration_s * SECOND_MS : rules->duration_ms;
    if (record->coordinated)
        return INT64_MAX;
    return now_ms + rules->duration_ms + (record->holder[0] ? bound_ms + rules->late_ms : 0);
}

void claim_records_note(struct claims *claims, const char *key, const struct lease_record *record,
                        const char *version, bool released_here)
{
    struct claim_record fresh = { 0 };
    if (strlen(key) >= sizeof(fresh.key) || strlen(version) >= sizeof(fresh.version))
        return;
    (void)snprintf(fresh.key, sizeof(fresh.key), "%s", key);
    (void)snprintf(fresh.version, sizeof(fresh.version), "%s", version);
    if (!record) {
        sorted_remove(&claims->records, &fresh);
        return;
    }
    const struct claim_record *known = sorted_find(&claims->records, &fresh);
    if (known && !released_here && strcmp(known->version, version) == 0)
        return;
    fresh.due_ms = due_ms(claims, record, clock_boot_ms());
    if (!released_here && fresh.due_ms != INT64_MAX)
        fresh.due_ms += own_delay_ms(claims, key);
    (void)sorted_put(&claims->records, &fresh); /* otherwise another node deletes it */
}

/* ---- Deletions ---- */

static void end_removal(struct claims *claims, const struct claim_answer *answer)
{
    struct claim_record *record = sorted_find(&claims->records, claims->removal.key);
    bool failed = answer->outcome == CLAIM_FAILED;
    int64_t pause_ms = (int64_t)AGAIN_MS << MIN(claims->removal.failures, 10U);
    claims->removal.request = NULL;
    claims->removal.failures = failed ? claims->removal.failures + 1 : 0;
    claims->removal.remedy = failed ? answer->remedy : NULL;
    (void)snprintf(claims->removal.trouble, sizeof(claims->removal.trouble), "%s",
                   failed ? answer->why : "");
    if (failed)
        claims->removal.not_before_ms = clock_boot_ms() + MIN(pause_ms, AGAIN_MOST_MS);
    else if (answer->outcome == CLAIM_CONFLICT && record)
        record->due_ms = INT64_MAX; /* it has changed, and the watch is about to report that */
    else if (record)
        sorted_remove(&claims->records, claims->removal.key);
    if (answer->outcome == CLAIM_DONE)
        log_info("claim %s: nobody wants it any more, deleted", claims->removal.key);
}

static void on_removed(void *context, const struct claim_answer *answer)
{
    struct claims *claims = context;
    claims->options.counts->failures += answer->outcome == CLAIM_FAILED;
    end_removal(claims, answer);
    deferred_schedule(claims->turn);
}

static void remove_record(struct claims *claims, const struct claim_record *record)
{
    const struct claim_store *store = &claims->options.store;
    const struct claim_ask ask = {
        .key = claims->removal.key,
        .version = record->version,
        .limit_ms = ANSWER_MS,
        .told = on_removed,
        .context = claims,
    };
    memcpy(claims->removal.key, record->key, sizeof(claims->removal.key));
    claims->options.counts->requests++;
    int r = store->ops->remove(store->data, &ask, &claims->removal.request);
    const struct claim_answer failed = { .outcome = CLAIM_FAILED, .why = strerror(-r) };
    if (r < 0)
        end_removal(claims, &failed);
}

/* One at a time: deletions are not urgent. */
void claim_records_tidy(struct claims *claims, int64_t now_ms)
{
    if (claims->removal.request || now_ms < claims->removal.not_before_ms)
        return;
    sorted_each(struct claim_record, record, &claims->records) {
        if (record->due_ms <= now_ms && !claims_find(claims, record->key)) {
            remove_record(claims, record);
            return;
        }
    }
}

int64_t claim_records_next_ms(const struct claims *claims)
{
    int64_t next_ms = INT64_MAX;
    if (claims->removal.request)
        return next_ms;
    sorted_each(struct claim_record, record, &claims->records) {
        if (record->due_ms < next_ms && !claims_find(claims, record->key))
            next_ms = record->due_ms;
    }
    return MAX(next_ms, claims->removal.not_before_ms);
}

void claim_records_end(struct claims *claims)
{
    if (claims->removal.request)
        claims->options.store.ops->cancel(claims->removal.request);
    sorted_done(&claims->records);
}
