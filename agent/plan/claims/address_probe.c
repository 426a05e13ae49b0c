// SPDX-License-Identifier: Apache-2.0
/* See address_probe.h. Run by segment/claim_probe.c. */
#include "plan/claims/address_probe.h"

enum {
    ANSWERED_MS = 1000,
    SILENT_MS = 250, /* and an announcement takes a few more: well below a second */
    SILENCES = 2,    /* needed in a row: a single frame may be lost */
};

bool address_probe_next(struct address_probe *address_probe, bool cut_off, int64_t now_ms)
{
    if (!cut_off) {
        *address_probe = (struct address_probe){ .next_ms = INT64_MAX };
        return false;
    }
    if (address_probe->begun && now_ms < address_probe->next_ms)
        return false;
    address_probe->begun = true;
    address_probe->next_ms = now_ms + (address_probe->unanswered ? SILENT_MS : ANSWERED_MS);
    address_probe->unanswered++;
    return true;
}

int64_t address_probe_due_ms(const struct address_probe *address_probe)
{
    return address_probe->begun ? address_probe->next_ms : INT64_MAX;
}

bool address_probe_heard(struct address_probe *address_probe)
{
    bool again = address_probe->unanswered > SILENCES;
    address_probe->unanswered = 0;
    return again;
}
