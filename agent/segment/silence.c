// SPDX-License-Identifier: Apache-2.0
/* See silence.h. Used by lease_watch.c and etcd_watch.c. */
#include "segment/silence.h"

#include "base/clock.h"
#include "base/macro.h"

enum { LONGEST = 16 }; /* doublings */

void silence_note(struct silence *silence, const struct lease_record *record)
{
    silence->times = 0;
    if (record && record->holder[0] && record->duration_s > 0)
        silence->news_ms = record->duration_s * SECOND_MS * 2 / 3;
}

int64_t silence_limit_ms(const struct silence *silence, int64_t most_ms)
{
    if (silence->news_ms <= 0 || silence->news_ms >= most_ms)
        return most_ms;
    unsigned doublings = MIN(silence->times, (unsigned)LONGEST);
    return MIN(silence->news_ms << doublings, most_ms);
}
