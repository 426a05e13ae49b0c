/* SPDX-License-Identifier: Apache-2.0 */
/* A claim without addresses, which needs neither a kernel nor a wire, and a store that is a list of
 * what it was asked. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "segment/claims_inside.h"

#include "cmocka_all.h"

#define KEY "address.192-0-2-1"

struct world {
    sd_event *event;
    unsigned turns;
    struct claims claims;
    struct claim_counts counts;
    struct own_claim claim;
    struct claim_ask asked;
    int64_t later_ms;
    int64_t since_ms; /* since when the store was watched */
    unsigned version;
    char log[256];
};

static void note(struct world *world, const char *word, const struct claim_ask *ask)
{
    size_t length = strlen(world->log);
    (void)snprintf(world->log + length, sizeof(world->log) - length, "%s%s", length ? " " : "",
                   word);
    world->asked = *ask;
}

#define OPERATION(name)                                                                        \
    static int do_##name(void *store, const struct claim_ask *ask, struct claim_request **ret) \
    {                                                                                          \
        note(store, #name, ask);                                                               \
        *ret = store;                                                                          \
        return 0;                                                                              \
    }
OPERATION(read)
OPERATION(create)
OPERATION(update)
OPERATION(release)
OPERATION(remove)

static void do_cancel(struct claim_request *request)
{
    (void)request;
}

static void turn(void *context)
{
    ((struct world *)context)->turns++;
}

static const struct claim_store_ops ops = {
    .name = "Lease",
    .read = do_read,
    .create = do_create,
    .update = do_update,
    .release = do_release,
    .remove = do_remove,
    .cancel = do_cancel,
};

static inline void begin(struct world *world)
{
    *world = (struct world){ .since_ms = INT64_MAX };
    struct claims *claims = &world->claims;
    assert_int_equal(sd_event_new(&world->event), 0);
    assert_int_equal(deferred_new(world->event, 0, turn, world, &claims->turn), 0);
    claims->options.store = (struct claim_store){ &ops, world };
    claims->options.rules = lease_rules_default;
    claims->options.failback_ms = FAILBACK_NEVER;
    claims->options.counts = &world->counts;
    claims->options.faults = fault_book_new();
    assert_non_null(claims->options.faults);
    claims->node = (char *)"node-1";
    claim_records_begin(claims);
    world->claim.claims = claims;
    (void)snprintf(world->claim.key, sizeof(world->claim.key), "%s", KEY);
    world->claim.wanted = true;
    world->claim.reason = PLACEMENT_MAY;
    lease_begin(&world->claim.lease, &claims->options.rules, claims->node, 0);
}

static inline void end(struct world *world)
{
    claim_records_end(&world->claims);
    fault_book_free(world->claims.options.faults);
    deferred_free(world->claims.turn);
    sd_event_unref(world->event);
}

static inline struct lease_record record_of(const char *holder)
{
    struct lease_record record = { .duration_s = 10, .acquired_wall_ms = 1, .renewed_wall_ms = 1 };
    (void)snprintf(record.holder, sizeof(record.holder), "%s", holder);
    return record;
}

static inline int64_t now_of(const struct world *world)
{
    return clock_boot_ms() + world->later_ms;
}

static inline void answer(struct world *world, enum claim_outcome outcome, const char *holder)
{
    char version[16];
    const struct lease_record record = record_of(holder ? holder : "");
    (void)snprintf(version, sizeof(version), "%u", ++world->version);
    const struct claim_answer told = { .outcome = outcome,
                                       .record = holder ? &record : NULL,
                                       .version = outcome == CLAIM_DONE ? version : "",
                                       .since_ms = world->since_ms,
                                       .why = "refused" };
    world->asked.told(world->asked.context, &told);
}

static inline void hear(struct world *world, const char *holder)
{
    char version[16];
    const struct lease_record record = record_of(holder ? holder : "");
    (void)snprintf(version, sizeof(version), "%u", ++world->version);
    claim_heard(&world->claim, holder ? &record : NULL, holder ? version : "", now_of(world));
}
