// SPDX-License-Identifier: Apache-2.0
/* Counts repairs per minute; see rival.h. */
#include "engine/rival.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

enum { TOLERATED = 20 }; /* repairing passes a minute: an operator's hand stays below this */

static bool fights(const struct rival *rival)
{
    return rival->repairs > TOLERATED;
}

void rival_note(struct rival *rival, uint32_t writer, int64_t now_ms)
{
    bool over =
        fights(rival) ? !rival_present(rival, now_ms) : now_ms - rival->window_ms > MINUTE_MS;
    if (over)
        *rival = (struct rival){ .window_ms = now_ms };
    rival->repairs++;
    rival->last_ms = now_ms;
    if (writer)
        rival->writer = writer;
}

bool rival_present(const struct rival *rival, int64_t now_ms)
{
    return fights(rival) && now_ms - rival->last_ms < RIVAL_CALM_MS;
}

void rival_fault(const struct rival *rival, struct faults *faults)
{
    char path[64];
    AUTOFREE char *name = NULL;
    size_t size;
    snprintf(path, sizeof(path), "/proc/%u/comm", rival->writer);
    if (rival->writer && file_read(path, 64, &name, &size) == 0)
        name[strcspn(name, "\n")] = '\0';
    faults_add(faults, "foreign writer",
               "stop it from touching protocols 30-63, or move routes.table",
               "something undoes our routes again and again: netlink port %u (%s); "
               "repairs are made once a second meanwhile",
               rival->writer, name ? name : "gone");
}
