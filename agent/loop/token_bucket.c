// SPDX-License-Identifier: Apache-2.0
/*
 * A token bucket as one time: the moment at which all tokens are there again. Each token that is
 * taken moves it into the future by what a token takes to come in; it may lie as far ahead as
 * `burst` tokens. Used by work_queue.c.
 *
 * The time is kept in microseconds, so that no rate is rounded to nothing.
 */
#include "loop/token_bucket.h"

#include "base/macro.h"

static int64_t token_us(const struct token_bucket *bucket)
{
    return 1000000 / bucket->per_second;
}

int64_t token_bucket_wait(const struct token_bucket *bucket, int64_t now_ms)
{
    if (bucket->per_second == 0)
        return 0;
    int64_t ahead_us = bucket->spent_us - now_ms * 1000;
    int64_t over_us = ahead_us + token_us(bucket) - token_us(bucket) * bucket->burst;
    return over_us <= 0 ? 0 : (over_us + 999) / 1000;
}

bool token_bucket_take(struct token_bucket *bucket, int64_t now_ms)
{
    if (token_bucket_wait(bucket, now_ms) > 0)
        return false;
    if (bucket->per_second)
        bucket->spent_us = MAX(bucket->spent_us, now_ms * 1000) + token_us(bucket);
    return true;
}

void token_bucket_return(struct token_bucket *bucket)
{
    if (bucket->per_second)
        bucket->spent_us -= token_us(bucket);
}
