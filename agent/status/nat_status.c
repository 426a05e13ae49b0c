// SPDX-License-Identifier: Apache-2.0
/*
 * The counters of service NAT, and the values of nat_status.h that own memory.
 *
 * A Prometheus counter must not decrease, or rate() takes the decrease for a restart and counts
 * everything again. Entries of the kernel's table of refusals can decrease, so the totals are the
 * sums of the increases of each entry.
 */
#include "status/nat_status.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"

void nat_differences_done(nat_difference_list *list)
{
    vec_each(struct nat_difference, difference, list) {
        free(difference->service);
        free(difference->text);
    }
    vec_done(list);
}

static int refusal_cmp(const void *left, const void *right)
{
    const struct nat_refusal *a = left, *b = right;
    int r = CMP(a->service, b->service);
    return r ? r : CMP(a->cause, b->cause);
}

/*
 * An entry that has decreased is a new one: its id has another owner, or it was removed in between.
 */
static uint64_t gain(const nat_refusal_list *seen, const struct nat_refusal *now)
{
    const struct nat_refusal *before = vec_find(seen, now, refusal_cmp);
    return before && before->count <= now->count ? now->count - before->count : now->count;
}

int nat_tally_add(struct nat_tally *tally, const nat_refusal_list *now)
{
    nat_refusal_list seen = { 0 };

    if (now->count > 0 && vec_reserve(&seen, now->count) < 0)
        return -ENOMEM;
    vec_each(const struct nat_refusal, refusal, now) {
        if (refusal->cause < NAT_CAUSE_COUNT)
            tally->totals[refusal->cause] += gain(&tally->seen, refusal);
        seen.items[seen.count++] = *refusal;
    }
    vec_sort(&seen, refusal_cmp);
    vec_done(&tally->seen);
    tally->seen = seen;
    return 0;
}

void nat_status_synced(struct nat_status *nat, bool full, int64_t took_us, int64_t wall_ms)
{
    nat->passes++;
    nat->last_pass_wall_ms = wall_ms;
    nat->last_pass_us = took_us;
    histogram_add(&nat->syncs, &histogram_sync, took_us);
    histogram_add(full ? &nat->full_syncs : &nat->part_syncs, &histogram_sync, took_us);
    if (!full)
        return;
    nat->full_passes++;
    nat->last_full_pass_wall_ms = wall_ms;
    nat->last_full_pass_us = took_us;
}

void nat_status_programmed(struct nat_status *nat, int64_t trigger_wall_ms, int64_t wall_ms)
{
    histogram_add(&nat->programming, &histogram_programming, (wall_ms - trigger_wall_ms) * 1000);
}

uint64_t nat_status_bytes(const struct nat_status *nat)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < nat->map_count; i++)
        sum += nat->maps[i].bytes;
    return sum;
}

void nat_status_done(struct nat_status *nat)
{
    vec_done(&nat->interfaces);
    vec_done(&nat->refused.seen);
}
