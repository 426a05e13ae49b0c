/* SPDX-License-Identifier: Apache-2.0 */
/* A token bucket: how often something may be done, on average and at once. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct token_bucket {
    uint32_t per_second; /* tokens that come in; 0: there is no limit */
    uint32_t burst;      /* that it holds at most, from the start on; at least 1 */
    int64_t spent_us;    /* time at which all that was taken will have come in again */
};

/* Takes a token. False: there is none before token_bucket_wait(). */
bool token_bucket_take(struct token_bucket *bucket, int64_t now_ms);

/* Gives a token back that was not needed. */
void token_bucket_return(struct token_bucket *bucket);

/* Milliseconds until there is a token; 0: there is one. */
int64_t token_bucket_wait(const struct token_bucket *bucket, int64_t now_ms);
