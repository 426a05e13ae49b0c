// SPDX-License-Identifier: Apache-2.0
/* A space for each kind of id, and the queue of ids that rest; see ids.h. */
#include "apply/nat/services/ids.h"

#include <errno.h>
#include <string.h>

int nat_ids_init(struct nat_ids *ids, const uint32_t limits[static NAT_ID_KINDS])
{
    *ids = (struct nat_ids){ 0 };
    for (int kind = 0; kind < NAT_ID_KINDS; kind++) {
        int r = space_init(&ids->spaces[kind], limits[kind]);
        if (r < 0) {
            nat_ids_done(ids);
            return r;
        }
        if (kind != NAT_ID_SLOT)
            (void)space_claim(&ids->spaces[kind], 0, 1);
    }
    return 0;
}

void nat_ids_done(struct nat_ids *ids)
{
    for (int kind = 0; kind < NAT_ID_KINDS; kind++)
        space_done(&ids->spaces[kind]);
    vec_done(&ids->resting);
}

static void wake(struct nat_ids *ids, int64_t now_ms)
{
    while (ids->resting_from < ids->resting.count) {
        const struct nat_rest *rest = &ids->resting.items[ids->resting_from];
        if (rest->until_ms > now_ms)
            break;
        space_give(&ids->spaces[rest->kind], rest->first, rest->count);
        ids->resting_from++;
    }
}

int nat_ids_take(struct nat_ids *ids, enum nat_id kind, uint32_t count, int64_t now_ms,
                 uint32_t *ret_first)
{
    wake(ids, now_ms);
    return space_take(&ids->spaces[kind], count, ret_first);
}

uint32_t nat_ids_free(struct nat_ids *ids, enum nat_id kind, int64_t now_ms)
{
    wake(ids, now_ms);
    return ids->spaces[kind].limit - ids->spaces[kind].used;
}

int nat_ids_reserve(struct nat_ids *ids, size_t more)
{
    size_t waiting = ids->resting.count - ids->resting_from;
    if (ids->resting_from > waiting) {
        memmove(ids->resting.items, ids->resting.items + ids->resting_from,
                waiting * sizeof(*ids->resting.items));
        ids->resting.count = waiting;
        ids->resting_from = 0;
    }
    return vec_reserve(&ids->resting, more);
}

void nat_ids_rest(struct nat_ids *ids, enum nat_id kind, uint32_t first, uint32_t count,
                  int64_t now_ms)
{
    ids->resting.items[ids->resting.count++] =
        (struct nat_rest){ now_ms + NAT_REST_MS, first, count, kind };
}
