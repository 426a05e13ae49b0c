/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ids and slots are in use. An id to which nothing refers any more rests for NAT_REST_MS
 * before it is allocated again, because a program that has read the reference just before may still
 * be running. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/nat/services/space.h"
#include "base/vec.h"

enum { NAT_REST_MS = 2000 };

enum nat_id { NAT_ID_SERVICE, NAT_ID_PORT, NAT_ID_ENDPOINT, NAT_ID_SLOT, NAT_ID_KINDS };

struct nat_rest {
    int64_t until_ms;
    uint32_t first, count;
    enum nat_id kind;
};

struct nat_ids {
    struct space spaces[NAT_ID_KINDS];
    VEC(struct nat_rest) resting; /* in order of time, from resting_from on */
    size_t resting_from;
};

/* `limits`: one more than the highest id of each kind. Id 0 is never allocated, except of slots. */
int nat_ids_init(struct nat_ids *ids, const uint32_t limits[static NAT_ID_KINDS]);
void nat_ids_done(struct nat_ids *ids);

/* Allocates one id, or slots for `count`. Returns 0 or -ENOSPC. */
int nat_ids_take(struct nat_ids *ids, enum nat_id kind, uint32_t count, int64_t now_ms,
                 uint32_t *ret_first);

/* Returns how many are neither in use nor at rest. */
uint32_t nat_ids_free(struct nat_ids *ids, enum nat_id kind, int64_t now_ms);

/* Reserves memory for `more` calls of nat_ids_rest(). Returns 0 or -ENOMEM. */
int nat_ids_reserve(struct nat_ids *ids, size_t more);

/* Nothing refers any more to `count` ids from `first` on. For slots this is the whole block: see
 * space_block(). */
void nat_ids_rest(struct nat_ids *ids, enum nat_id kind, uint32_t first, uint32_t count,
                  int64_t now_ms);
