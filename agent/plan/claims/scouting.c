// SPDX-License-Identifier: Apache-2.0
/* See scouting.h. Run by segment/claim_scout.c. */
#include "plan/claims/scouting.h"

enum {
    ANSWERED_MS = 1000,
    SILENT_MS = 250, /* and to say so takes a few more: well below a second */
    SILENCES = 2,    /* that mean something: a frame may be lost */
};

bool scouting_next(struct scouting *scouting, bool cut_off, int64_t now_ms)
{
    if (!cut_off) {
        *scouting = (struct scouting){ .next_ms = INT64_MAX };
        return false;
    }
    if (scouting->begun && now_ms < scouting->next_ms)
        return false;
    scouting->begun = true;
    scouting->next_ms = now_ms + (scouting->unanswered ? SILENT_MS : ANSWERED_MS);
    scouting->unanswered++;
    return true;
}

int64_t scouting_due_ms(const struct scouting *scouting)
{
    return scouting->begun ? scouting->next_ms : INT64_MAX;
}

bool scouting_heard(struct scouting *scouting)
{
    bool again = scouting->unanswered > SILENCES;
    scouting->unanswered = 0;
    return again;
}
